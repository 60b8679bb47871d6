"""What the README says works as it says."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest

import laserpath
from laserpath.types import Machine, Resin, Settings

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", TEXT, re.S)


def test_the_table_of_samples_has_every_one() -> None:
    table = (ROOT / "samples" / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `(\w+)\.svg` \|.*µm", table, re.M))
    assert named == {file.stem for file in ROOT.glob("samples/*.svg")}


def test_it_can_be_read_to_the_end() -> None:
    assert len(TEXT.splitlines()) <= 120


def test_a_bare_diode_is_as_over_powered_as_the_first_print_says() -> None:
    page = (ROOT / "docs" / "first-print.md").read_text(encoding="utf-8")
    machine, resin, settings = Machine(), Resin(), Settings()
    level = float(replace(machine, power_max=500.0).power_min) / machine.speed_max[0]
    needed = resin.critical_dose * settings.pitch_fwhm * 0.1
    assert f"{level:.3f} mJ/mm" in page
    assert f"{needed:.3f} mJ/mm" in page
    assert level > 1.5 * needed
    filtered = 500 * 10**-1.7
    assert filtered == pytest.approx(machine.power_max, rel=0.01)


@pytest.mark.parametrize("example", EXAMPLES)
def test_its_examples_need_laserpath_alone(example: str) -> None:
    for node in ast.walk(ast.parse(example)):
        if isinstance(node, ast.ImportFrom):
            assert node.module == "laserpath"
            assert {name.name for name in node.names} <= set(laserpath.__all__)


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES)
def test_its_examples_run(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    exec(example, {})
