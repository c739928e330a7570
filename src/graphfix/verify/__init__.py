"""Validation by running: the only package that executes code of the user, always in another process."""
