"""The intermediate representation: what a program does, written down once, as small instructions in blocks."""
