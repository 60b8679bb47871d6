"""The controllers: one package a firmware, with its facts, its motion model and its kernels.

`interface` says what is asked of each. They are found by the name in `Dialect.controller`. Those
of this package are imported when they are first needed, so that dialects come without the models.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from gcode.errors import GcodeError

if TYPE_CHECKING:
    from gcode.controllers.interface import Controller

_OURS = {"grbl": "Grbl", "marlin": "Marlin", "klipper": "Klipper", "trapezoid": "Limits"}
"""Name, which is also the module's → class."""

_found: dict[str, type[Controller]] = {}


def names() -> tuple[str, ...]:
    """The names of all controllers."""
    return tuple(dict.fromkeys((*_OURS, *_found)))


def find(name: str) -> type[Controller]:
    """The controller of that name. Raises GcodeError for one that is unknown."""
    if name not in _found:
        if name not in _OURS:
            raise GcodeError(f"controller {name!r} is unknown; known: {', '.join(names())}")
        _found[name] = getattr(import_module(f"{__name__}.{name}"), _OURS[name])
    return _found[name]


def register(controller: type[Controller]) -> type[Controller]:
    """Make a controller known by its name; as a decorator too. Raises GcodeError if the name is taken."""
    if controller.name in names() and _found.get(controller.name) is not controller:
        raise GcodeError(f"controller {controller.name!r} exists already")
    _found[controller.name] = controller
    return controller
