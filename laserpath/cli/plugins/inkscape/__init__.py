"""The Inkscape extension, and its installation into Inkscape's folder.

Inkscape runs an extension with a Python of its own, where laserpath is not installed. So the two files
beside this one stand alone: the dialog (.inx), and a script that runs the command `laserpath` as a process.
"""

from __future__ import annotations

import shutil
import subprocess
from importlib import resources
from pathlib import Path

from laserpath.base.errors import InputError
from laserpath.base.files import write_all

FILES = ("laserpath.inx", "laserpath_inkscape.py")

_PATIENCE = 60
"""s, time limit for Inkscape to print its folder."""


def install(folder: Path | None = None) -> tuple[Path, ...]:
    """Write the extension into a folder, by default that of the user's extensions; return the paths."""
    folder = folder or extensions_folder()
    source = resources.files(__name__)
    return write_all({folder / name: (source / name).read_text(encoding="utf-8") for name in FILES})


def extensions_folder() -> Path:
    """The folder in which the installed Inkscape looks for the user's extensions."""
    program = shutil.which("inkscape")
    if program is None:
        raise InputError(
            "inkscape is not in the PATH; name the folder of its extensions, "
            "which Inkscape shows in Edit > Preferences > System > User extensions"
        )
    command = [program, "--user-data-directory"]
    try:
        printed = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError(f"{program} does not say where its extensions are: {error}") from error
    if not printed.strip():
        raise InputError(f"{program} does not say where its extensions are")
    return Path(printed.strip().splitlines()[-1]) / "extensions"
