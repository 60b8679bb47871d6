"""Packages with entry points, installed into a folder as pip leaves them behind."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "samples" / "plugin"

Points = Mapping[str, Mapping[str, str]]
"""Group → name → `module:object`."""


def install(folder: Path, name: str, points: Points, module: str = "") -> Path:
    """A distribution NAME 1.0 with a module of that name; returns the folder."""
    module_name = name.replace("-", "_")
    info = folder / f"{module_name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    groups = (f"[{group}]\n" + _lines(names) for group, names in points.items())
    (info / "entry_points.txt").write_text("\n".join(groups), encoding="utf-8")
    (folder / f"{module_name}.py").write_text(module, encoding="utf-8")
    return folder


def _lines(names: Mapping[str, str]) -> str:
    return "".join(f"{name} = {value}\n" for name, value in names.items())


def install_example(folder: Path) -> Path:
    """samples/plugin, with the entry points that its pyproject.toml names."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    install(folder, project["name"], project["entry-points"])
    shutil.copy(EXAMPLE / "laserpath_example.py", folder)
    return folder
