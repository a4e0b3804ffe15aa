"""Text: cut into passages with exact offsets, and into terms."""
