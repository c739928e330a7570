"""What functions of libraries do with what they are given: rows, by library, with their reader."""
