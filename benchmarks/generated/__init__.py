"""Generated training programs, and what the safe fixes of graphfix do to them when they run."""
