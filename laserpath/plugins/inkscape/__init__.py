"""The Inkscape extension, and how it gets into Inkscape's folder.

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
"""s, for Inkscape to say where its folder is."""


def install(folder: Path | None = None) -> tuple[Path, ...]:
    """Write the extension into a folder, that of the user's extensions unless said; return the paths."""
    folder = folder or extensions_folder()
    here = resources.files(__name__)
    return write_all({folder / name: (here / name).read_text(encoding="utf-8") for name in FILES})


def extensions_folder() -> Path:
    """Where the installed Inkscape looks for the user's extensions."""
    program = shutil.which("inkscape")
    if program is None:
        raise InputError(
            "inkscape is not in the PATH; name the folder of its extensions, "
            "which Inkscape shows in Edit > Preferences > System > User extensions"
        )
    command = [program, "--user-data-directory"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError(f"{program} does not say where its extensions are: {error}") from error
    if not said.strip():
        raise InputError(f"{program} does not say where its extensions are")
    return Path(said.strip().splitlines()[-1]) / "extensions"
