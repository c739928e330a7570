"""From an error on the screen to the line that makes it: reading tracebacks, explaining errors, finding their cause."""
