"""What settings raise."""

from __future__ import annotations


class SettingsError(Exception):
    """What is wrong with a settings file: the message begins with file and line."""
