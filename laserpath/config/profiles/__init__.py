"""Machines, resins and spots from TOML files: those that come with laserpath, and the user's own.

    machine = profiles.machine("grbl-diode-405")    # by name: shipped, or in the user's folder
    machine = profiles.machine("my/laser.toml")     # by path
    machine = profiles.machine({"power_max_mW": 10, …})    # keys and values

The user's folder is `user_folder()`, in the system's folder for settings. A profile there takes precedence
over a shipped one of the same name.

A key ends with its unit: `speed_max_mm_per_min`, `critical_dose_mJ_per_cm2`. A pair [x, y] may be given as
one number for both. An unknown key is an error.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gcode.errors import GcodeError
from gcode.files import TOML_BYTES, plain, toml
from laserpath.base import entry_points
from laserpath.base.errors import InputError, did_you_mean, figure
from laserpath.base.quantities import DOSE, LENGTH, Units, parse

if TYPE_CHECKING:  # the command line lists names without waiting for NumPy and Shapely
    from laserpath.types import Machine, Resin, Spot

Profile = str | Path | Mapping[str, Any]
"""A name, a file, or a table of keys and values."""

FOLDERS = {"machine": "machines", "resin": "resins", "spot": "spots"}
_AMOUNTS: dict[str, tuple[Units, str]] = {"spot": (LENGTH, "--spot-fwhm"), "resin": (DOSE, "--critical-dose")}
"""Kind → the units of the amount that is often given in the place of a profile, and its option."""
DEFAULTS = {"machine": "grbl-diode-405", "resin": "generic-405", "spot": "diode-0.1mm"}


def user_folder() -> Path:
    """Folder of the user's own profiles, with a folder for each kind; LASERPATH_PROFILES overrides it."""
    from platformdirs import user_config_path

    return Path(os.environ.get("LASERPATH_PROFILES") or user_config_path("laserpath", appauthor=False))


def names(kind: str) -> tuple[str, ...]:
    """Names of the shipped and the user's own profiles of a kind: 'machine', 'resin' or 'spot'."""
    return tuple(sorted({*shipped(kind), *own(kind)}))


def shipped(kind: str) -> tuple[str, ...]:
    """Names of the profiles of a kind that come with laserpath."""
    folder = resources.files(__name__) / FOLDERS[kind]
    return tuple(sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml")))


def own(kind: str) -> tuple[str, ...]:
    """Names of the profiles of a kind in the user's folder."""
    folder = user_folder() / FOLDERS[kind]
    return tuple(sorted(f.stem for f in folder.glob("*.toml"))) if folder.is_dir() else ()


def machine(profile: Profile = DEFAULTS["machine"]) -> Machine:
    """A machine by its name, from a file or from a table."""
    from laserpath.config.profiles import fields
    from laserpath.types import Machine

    return fields.build(Machine, fields.MACHINE, *_load("machine", profile))


def resin(profile: Profile = DEFAULTS["resin"]) -> Resin:
    """A resin or photoresist by its name, from a file or from a table."""
    from laserpath.config.profiles import fields
    from laserpath.types import Resin

    return fields.build(Resin, fields.RESIN, *_load("resin", profile))


def spot(profile: Profile = DEFAULTS["spot"]) -> Spot:
    """A spot by its name, from a file or from a table."""
    from laserpath.config.profiles import fields
    from laserpath.types import Spot

    plugin = isinstance(profile, str) and entry_points.find(entry_points.SPOTS, profile, names("spot"))
    if plugin:
        made: Spot = plugin.make(Spot)
        return made
    spot = fields.build(Spot, fields.SPOT, *_load("spot", profile))
    if spot.measured is None or isinstance(profile, Mapping):
        return spot
    known = isinstance(profile, str) and not _is_path(profile)
    return replace(spot, source=str(profile) if known else str(Path(profile).resolve()))


def text(kind: str, name_or_path: str | Path) -> str:
    """The TOML text of a profile, to copy and edit."""
    path = _path(kind, name_or_path)
    try:
        # The profiles that come with laserpath may be in an archive.
        data = plain(path, TOML_BYTES) if isinstance(path, Path) else path.read_bytes()
        return data.decode("utf-8")
    except GcodeError as error:
        raise InputError(f"{kind} profile {str(name_or_path)!r} {error}") from None
    except FileNotFoundError:
        near = file_of(str(name_or_path)) or _as_amount(kind, str(name_or_path))
        raise InputError(f"{kind} profile {str(name_or_path)!r} is missing{near}") from None
    except (OSError, ValueError) as error:
        cause = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else _reason(error)
        raise InputError(f"{kind} profile {str(name_or_path)!r} cannot be read: {cause}") from error


def _path(kind: str, name_or_path: str | Path) -> Path | Traversable:
    """The file of a profile."""
    if _is_path(name_or_path):
        return Path(name_or_path)
    name = str(name_or_path)
    if name in own(kind):
        return user_folder() / FOLDERS[kind] / f"{name}.toml"
    if name in shipped(kind):
        return resources.files(__name__) / FOLDERS[kind] / f"{name}.toml"
    if os.path.isfile(name):
        raise InputError(f"{kind} profile {name!r} is a file, but a profile file ends in .toml")
    known = entry_points.names(entry_points.SPOTS, names(kind)) if kind == "spot" else names(kind)
    near = file_of(name) or _as_amount(kind, name) or did_you_mean(name, known)
    raise InputError(f"{kind} profile {name!r} is unknown; known: {', '.join(known)}{near}")


def file_of(name: str) -> str:
    """The file that a name most likely means, which lacks its end; else ''."""
    return f"; did you mean the file {name}.toml?" if os.path.isfile(f"{name}.toml") else ""


def _as_amount(kind: str, name: str) -> str:
    """The option that takes a length or a dose, if the name of a spot or of a resin is one; else ''."""
    if kind not in _AMOUNTS:
        return ""
    units, option = _AMOUNTS[kind]
    try:
        parse(name, units, "")
    except InputError:
        return ""
    return f"; did you mean {option} {name}?"


def in_short(kind: str, name_or_path: str | Path) -> str:
    """The first sentence of a profile's first comment."""
    first = next((line for line in text(kind, name_or_path).splitlines() if line.startswith("#")), "")
    return first.lstrip("# ").split(". ")[0].rstrip(".:")


def calibrated(kind: str, name_or_path: str | Path) -> str:
    """When and by what a spot or a resin was measured, a line for each time; '': never."""
    return spot(name_or_path).calibrated if kind == "spot" else resin(name_or_path).calibrated


def likely_kind(path: str | Path) -> str:
    """The kind that most keys of a profile file belong to."""
    from laserpath.config.profiles import fields

    table, owner, _ = _load("machine", Path(path))
    known = {"machine": fields.MACHINE, "resin": fields.RESIN, "spot": fields.SPOT}
    shares = {kind: sum(key in f.keys for key in table for f in its) for kind, its in known.items()}
    best = max(shares, key=lambda kind: shares[kind])
    if not shares[best]:
        raise InputError(f"{owner.removeprefix('machine ')} has no key of a machine, a resin or a spot")
    return best


def summary(noun: Machine | Resin | Spot) -> str:
    """One line with all values, so that a user can check them."""
    from laserpath.config.profiles import writing
    from laserpath.types import Spot

    if isinstance(noun, Spot) and noun.measured is not None:
        return f"a measured spot, FWHM {figure(1000 * noun.fwhm, 4)} µm"
    return ", ".join(writing.text(noun).splitlines())


def _is_path(name_or_path: str | Path) -> bool:
    given = str(name_or_path)
    return isinstance(name_or_path, Path) or given.endswith(".toml") or "/" in given or "\\" in given


def _load(kind: str, profile: Profile) -> tuple[Mapping[str, Any], str, Path]:
    """Keys and values of a profile, its name for messages, and the folder of the files that it names."""
    if isinstance(profile, Mapping):
        return profile, f"{kind} in [{kind}]", Path()
    owner = f"{kind} profile {str(profile)!r}"
    path = _path(kind, profile)
    folder = path.parent if isinstance(path, Path) else Path()
    try:
        # Decimal keeps numbers exactly as written.
        return toml(text(kind, profile), Decimal), owner, folder
    except GcodeError as error:
        raise InputError(f"{owner} {error}") from None


def _reason(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)
