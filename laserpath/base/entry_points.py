"""What installed packages add to laserpath, by the entry points of their distributions.

| group | name | object |
| --- | --- | --- |
| `laserpath.designs` | a suffix without its dot: `hpgl` | (data: bytes, name, reading) → Design |
| `laserpath.curves` | of a starting curve | (design, process, settings) → strokes (K, 2) mm |
| `laserpath.spots` | of a spot | () → Spot |

    [project.entry-points."laserpath.curves"]
    diagonals = "my_package:diagonals"

`gcode.dialects` is the fourth group; `gcode` looks there itself. A name of ours cannot be taken: it is an
error as soon as it is asked for. Whatever goes wrong in a plugin is a sentence that names its package.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from laserpath.base.errors import InputError

if TYPE_CHECKING:  # it takes the time of a tenth of a `--help` to import
    from importlib.metadata import EntryPoint

DESIGNS = "laserpath.designs"
CURVES = "laserpath.curves"
SPOTS = "laserpath.spots"
DIALECTS = "gcode.dialects"

KINDS = {DESIGNS: "design reader", CURVES: "starting curve", SPOTS: "spot", DIALECTS: "dialect"}
"""Group → what one of it is called in a sentence."""


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
        """What it is called in a sentence."""
        return f"{KINDS[self.group]} {self.point.name!r} of the package {self.package!r}"

    def __call__(self, *args: Any) -> Any:
        """What the plugin makes of the arguments; its own InputErrors are passed on."""
        try:
            offered = self.point.load()
        except Exception as error:  # whatever another package's code does when it is imported
            raise InputError(f"{self.title} cannot be loaded: {_said(error)}") from error
        if not callable(offered):
            raise InputError(f"{self.title} is a {type(offered).__name__}, but must be a function")
        try:
            return offered(*args)
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"{self.title} failed: {_said(error)}") from error

    def make(self, wanted: type[Any], *args: Any) -> Any:
        """The same, of the type that is wanted."""
        made = self(*args)
        if not isinstance(made, wanted):
            raise InputError(f"{self.title} gave a {type(made).__name__}, but must give a {wanted.__name__}")
        return made


def found(group: str) -> dict[str, tuple[Plugin, ...]]:
    """All plugins of a group by name; more than one where packages disagree about it."""
    from importlib import metadata

    plugins: dict[str, tuple[Plugin, ...]] = {}
    for point in metadata.entry_points(group=group):
        # A folder that is on the path twice shows a distribution twice.
        one = Plugin(group, point)
        others = plugins.get(point.name, ())
        if all((other.package, other.point) != (one.package, point) for other in others):
            plugins[point.name] = (*others, one)
    return dict(sorted(plugins.items()))


def find(group: str, name: str, ours: Collection[str]) -> Plugin | None:
    """The plugin of that name, if there is one; `ours`: the names that laserpath has itself."""
    plugins = found(group).get(name, ())
    if plugins and name in ours:
        raise InputError(
            f"{plugins[0].title} has the name of one of laserpath's own; "
            "uninstall the package, or let its author choose another name"
        )
    if len(plugins) > 1:
        packages = ", ".join(repr(plugin.package) for plugin in plugins)
        raise InputError(
            f"{KINDS[group]} {name!r} is offered by several packages, {packages}; uninstall all but one"
        )
    return plugins[0] if plugins else None


def names(group: str, ours: Collection[str]) -> tuple[str, ...]:
    """Our names, and then those of the plugins."""
    return (*ours, *(name for name in found(group) if name not in ours))


def _said(error: Exception) -> str:
    """`ValueError: what it says`, on one line."""
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
