"""The golden file: all that graphfix says of a set of programs, written down once and compared with what it says later."""
