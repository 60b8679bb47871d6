"""The four sets of tests. Each test is in one of them, and `make test-all` runs all four.

no mark  `make test`         fast, with Python and what pip installs
slow     `make test-slow`    more than half a second; `make test-guards` is the part that the CI runs
tools    `make test-tools`   with programs beside Python: tools.PACKAGES, and the readers of G-code
parity   `make test-parity`  with PyTorch and JAX

Random tests are among the slow ones too, there with all their examples: the fast set tries a twentieth.

`make test-lower` runs the fast tests of some files once more, with the oldest dependencies: OLDEST. Run as a
program, this file prints them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import settings

MARKS = ("slow", "tools", "parity")
OLDEST = {
    "click": ("cli/test_cli_manners.py", "cli/test_cli_progress.py"),
    "contourpy": ("design/test_image.py", "report/test_report_page.py"),
    "cssselect2": ("design/test_svg_structure.py",),
    "defusedxml": ("design/test_svg_structure.py",),
    "ezdxf": ("design/test_dxf.py", "design/test_dxf_lines.py", "design/test_dxf_bad.py"),
    "gdstk": ("design/test_gds.py",),
    "jinja2": ("report/test_report_page.py", "cli/test_cli_compare.py"),
    "loky": ("planning/test_fields.py",),
    "matplotlib": ("calibration/test_calibration_chart.py",),
    "numba": ("gcode/test_gcode_grbl.py", "gcode/test_gcode_klipper.py", "gcode/test_gcode_marlin.py"),
    "numpy": ("physics/dose/test_dose.py", "physics/optics/test_optics_plane.py", "measure/test_figures.py"),
    "pillow": ("design/test_image.py", "report/test_report_page.py"),
    "platformdirs": ("cli/test_cli_profiles.py", "config/test_profiles.py"),
    "rich": ("cli/test_cli_progress.py", "cli/test_cli_compare.py"),
    "scipy": ("design/test_contour.py", "planning/test_relief.py", "calibration/test_calibration_model.py"),
    "shapely": ("base/test_overlay.py", "design/test_vector.py", "planning/curve/test_curve_contour.py"),
    "svgwrite": ("report/test_report_toolpath_svg.py", "cli/test_cli_simulate.py"),
    "taichi": ("physics/dose/test_dose.py", "base/compute/test_runtime.py"),
    "threadpoolctl": ("planning/test_descent.py", "planning/test_plan.py"),
    "tinycss2": ("design/test_svg_structure.py", "design/test_svg_shapes.py"),
}
"""Dependency → files of tests that reach most of what laserpath calls of it; test_plan.py makes whole plans.

Chosen by the modules that import the dependency: the fast tests of those modules, about a minute in all.
`make test-lower ALL=1` runs every fast test.
"""

ALL_EXAMPLES = 100
"""Of a random test that names no number, with the slow tests."""

QUICK_EXAMPLES = 5
"""The same in the fast set, always the same ones: more find more there, and take longer."""


def thorough(choice: str) -> bool:
    """Whether what `-m` chooses lets slow tests run, so that random ones take all their examples."""
    return "not slow" not in choice


def few(number: int) -> int:
    """The examples for a random test that has `number` with the slow tests: at least three."""
    return max(number * settings().max_examples // ALL_EXAMPLES, min(number, 3))


def examples(number: int) -> settings:
    """A decorator for a random test that has `number` examples with the slow tests."""
    return settings(max_examples=few(number))


def one_fast(values: Iterable[object], *fast: object) -> list[object]:
    """The values of a parametrised test of which only those named run in the fast set, the others slowly."""
    return [one if one in fast else pytest.param(one, marks=pytest.mark.slow) for one in values]


def sort(item: pytest.Item, *, thorough: bool = False) -> None:
    """Put a test that asks for the fixture `need` among the tools, and a random one among the slow ones if
    these run; refuse one that is in two sets.
    """
    if "need" in getattr(item, "fixturenames", ()) and not item.get_closest_marker("tools"):
        item.add_marker(pytest.mark.tools)
    random = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    if thorough and random and not any(item.get_closest_marker(mark) for mark in MARKS):
        item.add_marker(pytest.mark.slow)
    only_one(item.nodeid, {mark.name for mark in item.iter_markers()})


def longest_first(items: list[pytest.Item]) -> None:
    """Begin with those that say how many seconds they take, as `slow(90)`: else one may be left for the end,
    when all other workers are done.
    """
    items.sort(key=lambda item: -sum(mark.args[0] for mark in item.iter_markers("slow") if mark.args))


def only_one(name: str, marks: Iterable[str]) -> None:
    """Raise UsageError if the marks put a test into two sets, where it would run in none or twice."""
    found = [mark for mark in MARKS if mark in marks]
    if len(found) > 1:
        raise pytest.UsageError(f"{name} is marked {' and '.join(found)}: a test is in one set")


def oldest() -> list[str]:
    """The files of OLDEST, each once, from the project's folder."""
    folder = Path("tests")
    return sorted({str(folder / file) for files in OLDEST.values() for file in files})


if __name__ == "__main__":
    sys.stdout.write(" ".join(oldest()))
