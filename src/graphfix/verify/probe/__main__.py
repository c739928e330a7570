"""`python PROBE --report FILE [--saved] [--seed N] [--reference NAME] (SCRIPT | -m MODULE) [ARGS]`, or `python PROBE --serve`."""

import importlib.util
import sys
from pathlib import Path

NAME = "_graphfix_probe"


def load() -> None:
    """Make this folder a package of a name that no script imports, and take it off the path."""
    here = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if not entry or Path(entry).resolve() != here]
    spec = importlib.util.spec_from_file_location(NAME, here / "__init__.py", submodule_search_locations=[str(here)])
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = package
    spec.loader.exec_module(package)


if __name__ == "__main__":
    load()
    importlib.import_module(f"{NAME}.start").main(sys.argv[1:])
