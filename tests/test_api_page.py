"""docs/api.md has every public name: those that the front doors offer in `__all__`."""

from __future__ import annotations

import re
from functools import reduce
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "api.md"

DOORS = (
    "laserpath", "laserpath.calibration", "laserpath.operators", "laserpath.planning",
    "laserpath.planning.relief", "laserpath.operators.strokes", "laserpath.operators.volume", "gcode",
    "gcode.motion",
)  # fmt: skip

EXTRAS = {"laserpath.operators.dose.torch": "torch", "laserpath.operators.dose.jax": "jax"}
"""Modules that need another package."""


def shown() -> list[str]:
    """The dotted names of the page: of its `:::` lines, and of the members that their options list."""
    found = []
    for name, options in re.findall(r"^::: (\S+)\n((?: +.*\n)*)", PAGE.read_text(encoding="utf-8"), re.M):
        _, _, members = options.replace("inherited_members", "").partition("members:")
        listed = re.findall(r"\w+", members.replace("false", ""))  # false: nothing but its docstring
        found += [name, *(f"{name}.{member}" for member in listed)]
    return found


def importable(name: str) -> bool:
    return find_spec(EXTRAS.get(name.rpartition(".")[0], "laserpath")) is not None


def named(name: str) -> Any:
    """What a dotted name stands for: a module, or what is in one."""
    first, *rest = name.split(".")
    return reduce(_part, rest, import_module(first))


def _part(of: Any, name: str) -> Any:
    if isinstance(of, ModuleType) and not hasattr(of, name):
        return import_module(f"{of.__name__}.{name}")
    return getattr(of, name)


@pytest.mark.parametrize("door", DOORS)
def test_the_page_has_every_public_name(door: str) -> None:
    """A name that two doors offer may stand there once, under either."""
    there = {id(named(name)) for name in shown() if importable(name)}
    offered = import_module(door)
    assert [name for name in offered.__all__ if id(getattr(offered, name)) not in there] == []


def test_each_name_stands_there_once_and_exists() -> None:
    names = shown()
    assert sorted({name for name in names if names.count(name) > 1}) == []
    assert all(named(name) is not None for name in names if importable(name))


@pytest.mark.parametrize("module", EXTRAS)
def test_names_that_need_an_extra_stand_there_too(module: str) -> None:
    """Read, not imported: their package may be missing."""
    source = (PAGE.parents[1] / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
    offered = re.findall(r'"(\w+)"', source.partition("__all__ = [")[2].partition("]")[0])
    assert offered and {f"{module}.{name}" for name in offered} <= set(shown())
