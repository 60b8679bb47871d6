"""How much memory one call takes: `python memory.py REQUEST` says it as JSON."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from problem import problem
from rows import BY_KEY


def growth(request: dict[str, Any]) -> dict[str, float]:
    """Bytes by which the resident memory grows at most while an engine and a loss are made and called."""
    row, size = BY_KEY[request["row"]], request["size"]
    small = row.make("S", "gaussian", "cpu")  # compiling takes memory of its own, and is not meant
    small(*problem("S").points_and_energies())
    points = problem(size).points_and_energies()
    Path("/proc/self/clear_refs").write_text("5")  # forgets the largest memory so far (Linux only)
    before = status("VmRSS")
    row.make(size, "gaussian", "cpu")(*points)
    return {"bytes": status("VmHWM") - before}


def status(name: str) -> float:
    """A line of /proc/self/status, in bytes."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return 1024.0 * int(lines[name].split()[0])


if __name__ == "__main__":
    _answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    _answer.write(json.dumps(growth(json.loads(sys.argv[1]))))
