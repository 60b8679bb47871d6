"""What an entry in the table of options says: see `options`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option. name: its key in a project file; as a flag, `--` and the name with dashes.

    sets: `Record.field`, in `types` or `design`.  parse: parser of its value (`values`); a `Length` is turned
    into multiples of the spot's FWHM. `Quantity` refuses 0 and below unless `low` is given: for a number that
    may be 0 use `low=None` and check the limit in the record.
    metavar, help, default: as shown; a `OneOf` without a metavar lists its words.
    replaces: options that are left out of a project if this one is given, since they set the same or a part
    of it.  drawings_only: it has no effect on grey images.  flag: False if only a project file has it.
    """

    name: str
    sets: str
    parse: Callable[[Any], Any]
    help: str
    default: str = ""
    metavar: str | None = None
    replaces: tuple[str, ...] = ()
    drawings_only: bool = False
    flag: bool = True

    @property
    def record(self) -> str:
        """The record that the option sets a field of: 'Settings', 'Resin' …"""
        return self.sets.partition(".")[0]

    @property
    def field(self) -> str:
        """The field that the option sets."""
        return self.sets.partition(".")[2]

    @property
    def shown(self) -> str:
        """The help, with the default in brackets."""
        return f"{self.help}  [{self.default}]" if self.default else self.help
