"""Runs a script as by hand and records what autograd did: torch and the standard library only.

Started by path (`python .../probe/__main__.py --report FILE SCRIPT`), so that the interpreter of the script needs no graphfix.
Imports in here are relative: the package goes by another name there, and no name of its own stands in a script's way.
"""
