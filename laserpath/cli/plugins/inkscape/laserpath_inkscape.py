#!/usr/bin/env python3
"""Inkscape > Extensions > Laser > laserpath…: the script behind the dialog.

Inkscape calls it with the dialog's values and a copy of the drawing, replaces the drawing by its stdout, and
shows its stderr. It runs the command `laserpath plan`, since laserpath is not installed in Inkscape's own
Python, and needs nothing but the standard library of Python 3.8.

The planned path is taken from NAME.toolpath.svg, where `data-page` is the position of the page in it:
x0 y0 x1 y1, upper left and lower right corner. The layer's transform maps that onto the drawing's viewBox (as
large as fits, centred).
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

SVG = "http://www.w3.org/2000/svg"
INKSCAPE = "http://www.inkscape.org/namespaces/inkscape"
SODIPODI = "http://sodipodi.sourceforge.net/DTD/sodipodi-0.dtd"
LAYER = "laserpath-toolpath"
DONE, BAD_INPUT, TOLERANCE_MISSED = 0, 2, 3

MISSING = (
    "the command laserpath is not found: install it with `pipx install laserpath`, "
    "or say where it is in the dialog, page More"
)
TEXT = "the drawing has text, which must become paths first: select it and take Path > Object to Path"
SAVE = "the drawing has no folder yet: save it, or choose a folder for the files in the dialog"
NO_PAGE = "the drawing has no page: give it a size in File > Document Properties"

# The environment of Inkscape's own Python must not reach laserpath's.
NOT_HANDED_ON = ("PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_LIBRARY_PATH")


class Refused(Exception):
    """One sentence for the user."""


def main(arguments: list[str]) -> int:
    """Print the drawing with the toolpath and return 0, or print one sentence to stderr and return 1."""
    try:
        options = parser().parse_known_args(arguments)[0]
        drawing, sentences = planned(options)
    except Refused as refused:
        sys.stderr.write(f"laserpath: {refused}\n")
        return 1
    sys.stdout.buffer.write(drawing)
    sys.stderr.write("".join(f"laserpath: {sentence}\n" for sentence in sentences))
    return 0


def parser() -> argparse.ArgumentParser:
    """A parser of the dialog's parameters."""
    parameters = argparse.ArgumentParser()
    parameters.add_argument("drawing")
    names = ("machine", "resin", "spot", "quality", "folder", "initial", "origin", "options", "command")
    for name in (*names, "iterations", "passes"):
        parameters.add_argument(f"--{name}", default="")
    for name in ("spot-fwhm", "critical-dose", "max-epe"):
        parameters.add_argument(f"--{name}", type=float, default=0.0)
    parameters.add_argument("--frame", default="false")
    return parameters


def planned(options: argparse.Namespace) -> tuple[bytes, list[str]]:
    """(the drawing with the planned toolpath as a layer, in bytes; warnings, a sentence each)."""
    root = read(options.drawing)
    take_away(root)
    folder = output_folder(options)
    with tempfile.TemporaryDirectory(prefix="laserpath-") as scratch:
        copy = Path(scratch) / f"{drawing_name(root)}.svg"
        copy.write_bytes(ET.tostring(root, encoding="utf-8"))
        if has_text(root):
            outline_text(copy)
        report = run(plan_command(options, copy, folder), folder)
    toolpath = next(name for name in report["files"] if name.endswith(".toolpath.svg"))
    root.append(layer(root, read(toolpath), title(report)))
    return ET.tostring(root, encoding="utf-8", xml_declaration=True), report["warnings"]


def read(path: str | Path) -> ET.Element:
    """The root of an SVG file; the prefixes of its namespaces are kept for writing it."""
    try:
        for _, (prefix, address) in ET.iterparse(path, events=["start-ns"]):
            if prefix not in ("", "svg") and not prefix.startswith("ns"):
                ET.register_namespace(prefix, address)
        ET.register_namespace("", SVG)
        return ET.parse(path, ET.XMLParser(target=ET.TreeBuilder(insert_comments=True))).getroot()
    except (OSError, ET.ParseError, LookupError, ValueError) as error:  # the last two: of its encoding
        raise Refused(f"{path} cannot be read: {error}") from error


def take_away(root: ET.Element) -> None:
    """Remove the toolpath of the run before."""
    for parent in list(root.iter()):
        for child in [child for child in parent if child.get("id") == LAYER]:
            parent.remove(child)


def has_text(root: ET.Element) -> bool:
    """Whether the drawing has any text."""
    return any(root.find(f".//{{{SVG}}}{name}") is not None for name in ("text", "flowRoot"))


def outline_text(path: Path) -> None:
    """Let Inkscape write the text of a file as outlines."""
    inkscape = os.environ.get("INKSCAPE_COMMAND") or shutil.which("inkscape")
    if not inkscape:
        raise Refused(TEXT)
    outlined = path.with_name("outlined.svg")
    done = subprocess.run(
        [inkscape, str(path), "--export-text-to-path", "--export-type=svg", f"--export-filename={outlined}"],
        check=False, env={**os.environ, "SELF_CALL": "true"}, capture_output=True, **quietly(),
    )  # fmt: skip
    if done.returncode or not outlined.exists() or has_text(read(outlined)):
        raise Refused(TEXT)
    outlined.replace(path)


def drawing_name(root: ET.Element) -> str:
    """The stem of the files, that of the drawing."""
    document = os.environ.get("DOCUMENT_PATH") or root.get(f"{{{SODIPODI}}}docname") or ""
    return Path(document.replace("\\", "/")).stem or "drawing"


def output_folder(options: argparse.Namespace) -> Path:
    """The folder for the files: the dialog's, or else the drawing's."""
    if options.folder.strip():
        return Path(options.folder.strip()).expanduser()
    document = os.environ.get("DOCUMENT_PATH", "")
    if not document or not Path(document).parent.is_dir():
        raise Refused(SAVE)
    return Path(document).parent.absolute()


def plan_command(options: argparse.Namespace, drawing: Path, folder: Path) -> list[str]:
    """The command line that plans."""
    command = [laserpath(options.command.strip()), "plan", str(drawing), "-o", str(folder), "--json"]
    names = ("machine", "resin", "quality", "initial", "iterations", "passes", "origin")
    values = {name: str(getattr(options, name)).strip() for name in names}
    if options.spot_fwhm > 0:
        values["spot-fwhm"] = f"{options.spot_fwhm:g}um"
    else:
        values["spot"] = options.spot.strip()
    if options.critical_dose > 0:
        values["critical-dose"] = f"{options.critical_dose:g}mJ/cm2"
    if options.max_epe > 0:
        values["max-epe"] = f"{options.max_epe:g}um"
    for name, value in values.items():
        command += [f"--{name}", value] if value else []
    command += ["--frame"] if options.frame == "true" else []
    try:
        return command + shlex.split(options.options)
    except ValueError as error:
        raise Refused(f"the options {options.options!r} cannot be read: {error}") from error


def laserpath(given: str) -> str:
    """The path of the command: the one given, in the PATH, or where pipx and pip put it."""
    if given:
        if not os.access(given, os.X_OK) or os.path.isdir(given):
            raise Refused(f"{given} is not a command that can be run; the dialog's page More names it")
        return given
    home = Path.home()
    places = [None, home / ".local" / "bin", home / "bin", "/opt/homebrew/bin", "/usr/local/bin"]
    for place in places:
        path = shutil.which("laserpath", path=str(place) if place else None)
        if path:
            return path
    raise Refused(MISSING)


def run(command: list[str], folder: Path) -> dict[str, Any]:
    """The output of `laserpath plan --json`, with its notes among the warnings."""
    environment = {key: value for key, value in os.environ.items() if key not in NOT_HANDED_ON}
    existing = next((p for p in (folder, *folder.parents) if p.is_dir()), None)
    try:
        done = subprocess.run(
            command, check=False, cwd=existing, env=environment, capture_output=True, **quietly()
        )
    except OSError as error:
        raise Refused(f"{command[0]} cannot be run: {error.strerror or error}") from error
    stderr = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode not in (DONE, TOLERANCE_MISSED):
        if done.returncode != BAD_INPUT:
            stderr = (stderr.splitlines() or ["no error message"])[-1]
            raise Refused(f"the command stopped with the code {done.returncode}: {stderr}")
        # The message names a copy in a temporary folder, which is gone when the user reads it.
        raise Refused(sentence(stderr).replace(command[2], Path(command[2]).name))
    report = json.loads(done.stdout.decode("utf-8"))
    notes = report.get("notes", [])
    report["warnings"] = [*notes, *(f"warning: {warning}" for warning in report["warnings"])]
    if done.returncode == TOLERANCE_MISSED:
        report["warnings"].append(sentence(stderr))
    return report


def sentence(stderr: str) -> str:
    """The last message in the command's stderr."""
    last = stderr.rpartition("laserpath: ")[2]
    return " ".join(line for line in last.splitlines() if not line.startswith("See '")) or "no error message"


def quietly() -> dict[str, Any]:
    """Options that keep Windows from opening a console window."""
    return {"creationflags": 0x08000000} if sys.platform == "win32" else {}


def title(report: dict[str, Any]) -> str:
    """The layer's name."""
    executed = report["executed"]
    error = executed["epe_mean"]
    edges = "" if error is None else f", mean edge error {1000 * error * report['fwhm_mm']:.2g} µm"
    return f"laserpath: {executed['write_time']:.3g} s{edges}"


def layer(root: ET.Element, toolpath: ET.Element, label: str) -> ET.Element:
    """The toolpath, over the design as it was read, as a locked layer in the drawing's own units."""
    path = next(element for element in toolpath.iter() if element.get("id") == "path")
    page = [float(part) for part in (path.get("data-page") or "").split()]
    if len(page) != 4:
        raise Refused(NO_PAGE)
    scale, x, y = onto(root, page)
    made = ET.Element(
        f"{{{SVG}}}g",
        {
            "id": LAYER,
            "transform": f"matrix({scale:.9g},0,0,{scale:.9g},{x:.9g},{y:.9g})",
            f"{{{INKSCAPE}}}groupmode": "layer",
            f"{{{INKSCAPE}}}label": label,
            f"{{{SODIPODI}}}insensitive": "true",
        },
    )
    for element in toolpath.iter():
        if element.get("id") in ("design", "path", "start", "end"):
            element.set("id", f"{LAYER}-{element.get('id')}")
            made.append(element)
    return made


def onto(root: ET.Element, page: list[float]) -> tuple[float, float, float]:
    """(scale, x, y) of the transform from millimetres of the toolpath's drawing to the viewBox."""
    width, height = page[2] - page[0], page[3] - page[1]
    try:
        box = [float(part) for part in (root.get("viewBox") or "").replace(",", " ").split()]
    except ValueError:
        box = []
    if len(box) != 4 or not (0 < box[2] < float("inf") and 0 < box[3] < float("inf")):
        box = [0.0, 0.0, width * 96 / 25.4, height * 96 / 25.4]
    # preserveAspectRatio: the viewBox is as large as fits into the page, in its middle.
    scale = max(box[2] / width, box[3] / height)
    x = box[0] - page[0] * scale - (width * scale - box[2]) / 2
    y = box[1] - page[1] * scale - (height * scale - box[3]) / 2
    return scale, x, y


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
