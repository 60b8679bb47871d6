"""Times whole plans of fixed designs, of this tree and of another commit, in turns: `make bench-plan`.

Each plan is a process of its own, as from the command line: it imports, plans, and writes its files. First
each tree plans the small designs once, uncounted, so that its kernels are compiled and cached; then the trees
take turns in going first. Seconds are those of all processors that a process took; its wall time says more on
an idle machine only. Memory is the most that it held. A stage's time is that from its first report to the
next stage's, and its rounds are the reports in it; `begin` is all before.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from pages import table, write_between_markers

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "performance.md"
MARK = "bench-plan"

_OUTLINES = "M.81 .7V.91H.93V.43H1.09V1.08H.33V.43H.48V.91H.6V.7Z M.48 .29H.17V.15H.48Z M1.09 .15V.29H.6V.15Z"
CLIP = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="1.3mm" height="1.3mm" viewBox="0 0 1.3 1.3">'
    f'<path d="{_OUTLINES}"/></svg>'
)
"""1 mm of the lowest metal of a chip: two bars and a double hook."""

_PADS = 60
"""Tracks of the board; more make it denser."""


def board() -> str:
    """A made board of 94 × 74 mm: `_PADS` tracks that bend, each from a pad to a pad."""
    tracks = []
    for k in range(_PADS):
        y, bend = 2 + 70 * k / _PADS, 20 + 50 * ((7 * k) % _PADS) / _PADS
        tracks.append(
            f'<path d="M3 {y:.3f}H{bend:.3f}l1.2 .6H91" fill="none" stroke="#000" stroke-width=".25"/>'
            f'<circle cx="3" cy="{y:.3f}" r=".5"/><circle cx="91" cy="{y + 0.6:.3f}" r=".5"/>'
        )
    size = 'width="94mm" height="74mm" viewBox="0 0 94 74"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(tracks)}</svg>'


DRIVER = """
import json, resource, sys, time
wall = time.perf_counter()
import laserpath
stages, last = {"begin": [0.0, 0]}, ["begin", 0.0]
def told(now):
    stage, at = now.stage, time.process_time()
    stages[last[0]][0] += at - last[1]
    stages.setdefault(stage, [0.0, 0])[1] += 1
    last[:] = stage, at
plan = laserpath.plan(sys.argv[1], progress=told)
told(type("Now", (), {"stage": "report"}))
plan.write(sys.argv[2])
told(type("Now", (), {"stage": "end"}))
stages.pop("end")
print(json.dumps({
    "cpu": time.process_time(), "wall": time.perf_counter() - wall, "stages": stages,
    "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    "epe": plan.report.executed.figures.epe_mean,
}))
"""
"""Run in both trees, so it uses only what a plan of last year offers, too."""


def planned(tree: Path, design: Path, folder: str) -> dict[str, Any]:
    """What the driver measures of one plan by the sources of a tree."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    command = [sys.executable, "-c", DRIVER, str(design), folder]
    done = subprocess.run(command, env=environment, cwd=tree, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{design.name} by {tree}: {done.stderr[-500:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """A worktree of a commit, for a while."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--detach", "--quiet", str(place), commit], check=True)
        try:
            yield place
        finally:
            subprocess.run([*git, "remove", "--force", str(place)], check=True)


def median(runs: list[dict[str, Any]], key: str) -> float:
    """Of one number of all runs."""
    return statistics.median(run[key] for run in runs)


def rows(name: str, now: list[dict[str, Any]], before: list[dict[str, Any]]) -> list[list[str]]:
    """The rows of one design: the whole process, and each stage that takes a twentieth of it."""
    cpu, wall = median(now, "cpu"), median(now, "wall")
    first = [
        name, "all", "", f"{cpu:.1f}", f"{cpu / median(before, 'cpu'):.2f}", f"{wall:.1f}",
        f"{wall / median(before, 'wall'):.2f}", f"{median(now, 'memory'):.1f}", f"{median(now, 'epe'):.4f}",
    ]  # fmt: skip
    found = [first]
    for stage, (_, rounds) in now[0]["stages"].items():
        seconds, earlier = (
            statistics.median(run["stages"].get(stage, (0.0, 0))[0] for run in runs) for runs in (now, before)
        )
        if seconds >= cpu / 20:
            ratio = f"{seconds / earlier:.2f}" if earlier else "–"
            found.append(
                ["", stage, str(rounds) if rounds > 1 else "", f"{seconds:.2f}", ratio, "", "", "", ""]
            )
    return found


HEADINGS = (
    "design",
    "stage",
    "rounds",
    "CPU, s",
    "÷ before",
    "wall, s",
    "÷ before",
    "GiB",
    "edge error, FWHM",
)


@click.command()
@click.option("--commit", default="HEAD~1", help="What this tree is compared with.")
@click.option("--long", is_flag=True, help="The butterfly and a board of 94 × 74 mm, too: half an hour.")
@click.option("--runs", default=3, help="Plans of each design and tree.")
@click.option("--write", is_flag=True, help="Put the table into docs/performance.md.")
def main(commit: str, long: bool, runs: int, write: bool) -> None:
    """Print a table of what plans take, with ratios to another commit."""
    with checked_out(commit) as tree, tempfile.TemporaryDirectory() as folder:
        clip, made = Path(folder) / "clip.svg", Path(folder) / "board.svg"
        clip.write_text(CLIP)
        made.write_text(board())
        samples = ROOT / "samples"
        designs = [clip, samples / "pcb.svg", *([samples / "butterfly.svg", made] if long else [])]
        for one in (ROOT, tree):
            for design in designs[:2]:
                planned(one, design, folder)
        body = []
        for design in designs:
            found: dict[Path, list[dict[str, Any]]] = {ROOT: [], tree: []}
            for k in range(runs):
                for one in ((ROOT, tree), (tree, ROOT))[k % 2]:
                    found[one].append(planned(one, design, folder))
            body += rows(design.stem, found[ROOT], found[tree])
    base = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--short", commit], capture_output=True, text=True
    )
    text = f"Medians of {runs}, against commit {base.stdout.strip()}.\n\n{table(HEADINGS, body)}"
    click.echo(text)
    if write:
        write_between_markers(PAGE, MARK, text)


if __name__ == "__main__":
    main()
