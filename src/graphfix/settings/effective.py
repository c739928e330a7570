"""Settings as they hold: the command line over the nearest file over what that extends over the defaults."""

from __future__ import annotations

from collections.abc import Mapping

from graphfix.lazy_dataclass import dataclass
from graphfix.settings.files import Loaded
from graphfix.settings.keys import KEYS, Key
from graphfix.settings.kinds import codes_of

Given = Mapping[str, object]
"""What the command line says, by name of the setting."""


@dataclass(frozen=True)
class Setting:
    """The value of one key, from one or several places: a file, or None for the command line."""

    key: Key
    parts: tuple[tuple[Loaded | None, object], ...] = ()

    @property
    def value(self) -> object:
        if not self.parts:
            return self.key.default
        if isinstance(self.key.default, list):
            return [item for _, part in self.parts for item in part]  # type: ignore[attr-defined]
        return self.parts[-1][1]


def effective(loaded: Loaded | None, given: Given) -> dict[str, Setting]:
    """Every setting, by name."""
    return {key.name: Setting(key, tuple(_parts(key, loaded, given))) for key in KEYS}


def _parts(key: Key, loaded: Loaded | None, given: Given) -> list[tuple[Loaded | None, object]]:
    written = [(layer, layer.values[key.name]) for layer in (loaded.chain() if loaded else ()) if key.name in layer.values]
    parts: list[tuple[Loaded | None, object]] = list(reversed(written)) if key.adds else list(written[:1])
    # a selection on the command line replaces all that files say of rules, as in ruff
    if "select" in given and key.name in ("select", "extend-select", "ignore"):
        parts = []
    if key.name == "ignore" and "extend-select" in given:
        parts = [(layer, _without(codes, given["extend-select"])) for layer, codes in parts]
    if key.name not in given:
        return parts
    return [*(parts if isinstance(key.default, list) and key.name != "select" else []), (None, given[key.name])]


def _without(codes: object, wanted: object) -> list[str]:
    """The ignored codes that a selection on the command line does not ask for."""
    return [code for code in codes if not codes_of([code])[0].startswith(tuple(wanted))]  # type: ignore[attr-defined, arg-type]
