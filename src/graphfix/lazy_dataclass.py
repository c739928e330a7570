"""Dataclasses that get their methods with their first instance.

`dataclasses.dataclass` compiles the methods of each class, which is a fifth of the time that a command takes to start, and most of the
classes that it imports never have an instance. The names mean what they do in `dataclasses`.
"""

from __future__ import annotations

import dataclasses
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import fields as fields
    from dataclasses import is_dataclass as is_dataclass
else:
    _waiting: dict[type, dict[str, Any]] = {}  # classes, with the arguments of `dataclass`
    _one_at_a_time = threading.RLock()

    def dataclass(cls: type | None = None, /, **how: Any) -> Any:
        """As `dataclasses.dataclass`; a class with slots is made anew, and one with an `__init__` of its own is called by that: these wait for nothing."""
        if cls is None:
            return lambda decorated: dataclass(decorated, **how)
        if how.get("slots") or "__init__" in vars(cls) or "__setstate__" in vars(cls):
            _finish(cls)
            return dataclasses.dataclass(**how)(cls)
        _waiting[cls] = how

        def __init__(self: Any, *arguments: Any, **keywords: Any) -> None:
            _finish(cls)
            cls.__init__(self, *arguments, **keywords)

        def __setstate__(self: Any, state: dict[str, Any]) -> None:  # what unpickles an instance calls no `__init__`
            _finish(cls)
            vars(self).update(state)

        cls.__init__, cls.__setstate__ = __init__, __setstate__
        return cls

    def _finish(cls: type) -> None:
        with _one_at_a_time:
            for each in reversed(cls.__mro__):
                how = _waiting.pop(each, None)
                if how is not None:
                    del each.__init__, each.__setstate__
                    dataclasses.dataclass(**how)(each)

    def fields(whose: Any) -> tuple[dataclasses.Field, ...]:
        """As `dataclasses.fields`."""
        _finish(whose if isinstance(whose, type) else type(whose))
        return dataclasses.fields(whose)

    def is_dataclass(whose: Any) -> bool:
        """As `dataclasses.is_dataclass`."""
        _finish(whose if isinstance(whose, type) else type(whose))
        return dataclasses.is_dataclass(whose)
