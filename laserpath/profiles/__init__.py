"""Machines, resins and spots from TOML files: those that come with laserpath, and the user's own.

    machine = profiles.machine("grbl-diode-405")    # by name
    machine = profiles.machine("my/laser.toml")     # by path

A key ends with its unit, the one that people use: `speed_max_mm_per_min`, `critical_dose_mJ_per_cm2`.
A pair [x, y] may be given as one number for both. An unknown key is an error.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable
from decimal import Decimal
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from laserpath.errors import InputError

if TYPE_CHECKING:  # the command line lists names without waiting for NumPy and Shapely
    from laserpath.types import Machine, Resin, Spot

FOLDERS = {"machine": "machines", "resin": "resins", "spot": "spots"}
DEFAULTS = {"machine": "grbl-diode-405", "resin": "generic-405", "spot": "diode-0.1mm"}


def names(kind: str) -> tuple[str, ...]:
    """The profiles of a kind ('machine', 'resin' or 'spot') that come with laserpath."""
    folder = resources.files(__name__) / FOLDERS[kind]
    return tuple(sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml")))


def machine(name_or_path: str | Path = DEFAULTS["machine"]) -> Machine:
    """A machine by its name or from a file."""
    from laserpath.profiles import fields
    from laserpath.types import Machine

    said, owner = _load("machine", name_or_path)
    # What a profile names is looked for beside it.
    return fields.build(Machine, fields.MACHINE, said, owner, Path(name_or_path).parent)


def resin(name_or_path: str | Path = DEFAULTS["resin"]) -> Resin:
    """A resin or photoresist by its name or from a file."""
    from laserpath.profiles import fields
    from laserpath.types import Resin

    return fields.build(Resin, fields.RESIN, *_load("resin", name_or_path))


def spot(name_or_path: str | Path = DEFAULTS["spot"]) -> Spot:
    """A spot by its name or from a file."""
    from laserpath.profiles import fields
    from laserpath.types import Spot

    said, owner = _load("spot", name_or_path)
    # What a profile names is looked for beside it.
    return fields.build(Spot, fields.SPOT, said, owner, Path(name_or_path).parent)


def text(kind: str, name_or_path: str | Path) -> str:
    """The TOML text of a profile, to start one's own from."""
    try:
        if _is_path(name_or_path):
            return Path(name_or_path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"{kind} profile {str(name_or_path)!r} is missing") from None
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"{kind} profile {str(name_or_path)!r} cannot be read: {cause}") from error
    if name_or_path not in names(kind):
        if Path(name_or_path).is_file():
            raise InputError(f"{kind} profile {name_or_path!r} is a file, but a profile file ends in .toml")
        raise InputError(
            f"{kind} profile {name_or_path!r} is unknown; known: {', '.join(names(kind))}"
            f"{hint(str(name_or_path), names(kind))}"
        )
    return (resources.files(__name__) / FOLDERS[kind] / f"{name_or_path}.toml").read_text(encoding="utf-8")


def hint(word: str, known: Iterable[str]) -> str:
    """`; did you mean …?` with the known words nearest to `word`, or nothing."""
    by_lower = {k.lower(): k for k in known}
    # A word that a known one begins with most likely lacks its end, a unit for instance.
    near = [k for k in by_lower if k.startswith(word.lower())] if len(word) > 2 else []
    near = near or difflib.get_close_matches(word.lower(), by_lower, n=2)
    return f"; did you mean {' or '.join(by_lower[k] for k in near)}?" if near else ""


def _is_path(name_or_path: str | Path) -> bool:
    given = str(name_or_path)
    return isinstance(name_or_path, Path) or given.endswith(".toml") or "/" in given or "\\" in given


def _load(kind: str, name_or_path: str | Path) -> tuple[dict[str, Any], str]:
    """The keys and values of a profile, and how to call it in a sentence."""
    owner = f"{kind} profile {str(name_or_path)!r}"
    try:
        # Decimal: what is written is taken exactly.
        return tomllib.loads(text(kind, name_or_path), parse_float=Decimal), owner
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{owner} is not valid TOML: {error}") from error
