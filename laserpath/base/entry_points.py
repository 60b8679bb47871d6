"""Plugins: objects that installed packages add to laserpath by entry points; and names of choices.

| group | name | object |
| --- | --- | --- |
| `laserpath.designs` | a suffix without its dot: `hpgl` | (data: bytes, name, reading) → Design |
| `laserpath.curves` | of a starting curve | (design, process, settings) → strokes (K, 2) mm |
| `laserpath.spots` | of a spot | () → Spot |

    [project.entry-points."laserpath.curves"]
    diagonals = "my_package:diagonals"

`gcode.dialects` is the fourth group; `gcode` looks there itself. A plugin with the name of
a built-in object is an error as soon as that name is used. An error in a plugin names its package.

The names of choices are here for the checks in `types` and for the help, which must not import the numerics.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from laserpath.base.errors import InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


DESIGNS = "laserpath.designs"
CURVES = "laserpath.curves"
SPOTS = "laserpath.spots"
DIALECTS = "gcode.dialects"

KINDS = {DESIGNS: "design reader", CURVES: "starting curve", SPOTS: "spot", DIALECTS: "dialect"}
"""Group → the noun for one of its plugins."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """One entry point. Nothing of its package is imported before it is called."""

    group: str
    point: EntryPoint

    @property
    def package(self) -> str:
        """`my-package 1.0`."""
        distribution = self.point.dist
        return f"{distribution.name} {distribution.version}" if distribution else self.point.module

    @property
    def title(self) -> str:
        """Kind, name and package, for a sentence."""
        return f"{KINDS[self.group]} {self.point.name!r} of the package {self.package!r}"

    def __call__(self, *args: Any) -> Any:
        """Call the plugin. Its InputErrors are passed on; any other exception becomes one."""
        try:
            offered = self.point.load()
        except Exception as error:  # another package's code may raise anything when it is imported
            raise InputError(f"{self.title} cannot be loaded: {_message(error)}") from error
        if not callable(offered):
            raise InputError(f"{self.title} is a {type(offered).__name__}, but must be a function")
        try:
            return offered(*args)
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"{self.title} failed: {_message(error)}") from error

    def make(self, expected: type[Any], *args: Any) -> Any:
        """Call the plugin, and raise InputError unless the result is of the expected type."""
        made = self(*args)
        if not isinstance(made, expected):
            raise InputError(
                f"{self.title} gave a {type(made).__name__}, but must give a {expected.__name__}"
            )
        return made


def found(group: str) -> dict[str, tuple[Plugin, ...]]:
    """All plugins of a group by name, with more than one where several packages offer the name."""
    plugins: dict[str, tuple[Plugin, ...]] = {}
    for point in offered(group):
        # A folder that is on the path twice shows a distribution twice.
        one = Plugin(group, point)
        others = plugins.get(point.name, ())
        if all((other.package, other.point) != (one.package, point) for other in others):
            plugins[point.name] = (*others, one)
    return dict(sorted(plugins.items()))


def offered(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group, of all packages on Python's path.

    Looked for anew once that path or one of its folders has changed, as by an installation: going through
    all packages takes about 10 ms, and every file that is read asks.
    """
    return _offered(group, tuple((folder, _changed(folder)) for folder in sys.path))


def _changed(folder: str) -> int | None:
    """When something was added to a folder, or taken from it, ns; None: there is no such folder."""
    try:
        return os.stat(folder or ".").st_mtime_ns
    except OSError:
        return None


@lru_cache(maxsize=len(KINDS))
def _offered(group: str, path: tuple[tuple[str, int | None], ...]) -> tuple[EntryPoint, ...]:
    """The same. path: what the answer depends on."""
    from importlib import metadata

    return tuple(metadata.entry_points(group=group))


def find(group: str, name: str, ours: Collection[str]) -> Plugin | None:
    """The plugin of that name, or None. ours: names of the built-in objects."""
    plugins = found(group).get(name, ())
    if plugins and name in ours:
        raise InputError(
            f"{plugins[0].title} has the name of one of laserpath's own; "
            "uninstall the package, or ask its author to choose another name"
        )
    if len(plugins) > 1:
        packages = ", ".join(repr(plugin.package) for plugin in plugins)
        raise InputError(
            f"{KINDS[group]} {name!r} is offered by several packages, {packages}; uninstall all but one"
        )
    return plugins[0] if plugins else None


def names(group: str, ours: Collection[str]) -> tuple[str, ...]:
    """The built-in names `ours`, then those of the plugins."""
    return (*ours, *(name for name in found(group) if name not in ours))


def _message(error: Exception) -> str:
    """`ValueError: its message`, on one line."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


INITIAL_CURVES = ("auto", "contour", "spiral", "hatch", "outline", "centreline", "strokes", "random")
"""Starting curves: 'outline' has a hatch inside, 'auto' is the best of several for each region."""

STROKES_MAX = 10_000
"""Most strokes that the starting curve 'strokes' may fit: more take minutes."""

FORMER_CURVES = {"rim": "outline", "tracks": "centreline"}
"""Names of version 0.1, which mean the same."""

ALIGN_FITS = ("shift", "rotation", "scale", "affine")
"""What marks may correct, each with all before it: a shift, a rotation, one scale, two scales and skew."""

QUALITIES = ("draft", "standard", "fine")
"""From the shortest write time to the most accurate edges."""

REPORTS = ("full", "brief")
"""What a report holds: 'brief' has no pictures, and its plan is not compared with the best of all paths."""


def is_initial_curve(name: str) -> bool:
    """Whether laserpath or an installed package has a starting curve of this name."""
    return name in INITIAL_CURVES or find(CURVES, name, INITIAL_CURVES) is not None


def initial_curves() -> tuple[str, ...]:
    """Names of laserpath's starting curves, then of those of installed packages."""
    return names(CURVES, INITIAL_CURVES)


MOST_COLOURS = 12
"""Most colours that a drawing is split into, and so the most programs that are written for it."""
