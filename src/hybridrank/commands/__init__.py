"""The commands of each task, and what they have in common."""
