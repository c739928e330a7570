"""Settings files: which one holds for a file, what it may say, and where each value came from."""
