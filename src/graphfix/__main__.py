"""`python -m graphfix`."""

import sys

# `python -m` puts the working directory first: gone before anything that it could shadow is imported
sys.path[:] = sys.path[1:] if not sys.flags.isolated and not getattr(sys.flags, "safe_path", False) else sys.path

from graphfix.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
