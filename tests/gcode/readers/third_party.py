"""gcodeparser, printrun's gcoder, and CNCjs's gcode-interpreter and gcode-toolpath: what they see.

gcodeparser 0.3 and gcode-interpreter 3.0 tell commands with their letters. printrun 2.2 works out places and
the bounding box, and finds S in a line. gcode-toolpath 3.0 works out lines and arcs with their centres, and
knows no power. Of these, only gcode-interpreter understands lines without a command of their own.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import warnings
from pathlib import Path as File
from typing import Any

from readers import HERE, node_modules
from readers.seen import Path, Seen, of_commands


def gcodeparser(text: str) -> Seen:
    from gcodeparser import parse_gcode_lines

    return of_commands((line.command_str, line.params) for line in parse_gcode_lines(text))


def printrun(text: str) -> Seen:
    with warnings.catch_warnings():  # its regular expressions are no raw strings
        warnings.simplefilter("ignore")
        from printrun import gcoder
    logging.getLogger().setLevel(logging.ERROR)  # it warns of every comment
    read = gcoder.GCode(text.splitlines())
    path, power = Path(), 0.0
    for line in read.lines:
        if line.command[:1] in ("G", "M") and line.command[1:].isdigit():  # not SET_PIN
            stated = gcoder.find_specific_code(line, "Q" if line.command in ("M67", "M68") else "S")
            power = power if stated is None else stated
        if line.is_move:
            centre = path.here[0] + (line.i or 0), path.here[1] + (line.j or 0)
            arc = line.command in ("G2", "G3")
            path.go(line.command, (line.current_x, line.current_y), centre if arc else None, power)
    return path.seen((read.xmin, read.ymin, read.xmax, read.ymax))


def gcode_interpreter(text: str) -> Seen:
    return of_commands((code, value) for code, value in _node("interpreter", text))


def gcode_toolpath(text: str) -> Seen:
    path = Path()
    for code, start, end, *centre in _node("toolpath", text):
        assert tuple(start) == path.here, "it goes on where it was"
        path.go(code, tuple(end), tuple(centre[0]) if centre else None)
    return path.seen()


def _node(reader: str, text: str) -> list[Any]:
    """What `cncjs.js` prints of the program."""
    modules = node_modules(f"gcode-{reader}")
    done = subprocess.run(
        ["node", File(HERE) / "cncjs.js", reader], input=text, env=os.environ | {"NODE_PATH": str(modules)},
        check=True, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    found: list[Any] = json.loads(done.stdout)
    return found
