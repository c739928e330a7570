"""From repairs to a pull request: commits beside the work tree, a text that a maintainer can decide on, the forge."""
