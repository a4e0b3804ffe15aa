"""Task adapters: ranked passages become what a task asks for. They know everything below, not each other."""
