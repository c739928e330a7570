"""Many repositories: each is cloned, analysed, repaired on a branch of its own, and offered to its maintainers, once."""
