"""What the README says works as it says."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from laserpath.types import Machine, Resin, Settings

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", TEXT, re.S)


def test_its_table_has_every_sample() -> None:
    assert set(re.findall(r"`samples/(\w+)\.svg` \|", TEXT)) == {p.stem for p in ROOT.glob("samples/*.svg")}


def test_a_bare_diode_is_as_over_powered_as_it_says() -> None:
    machine, resin, settings = Machine(), Resin(), Settings()
    level = float(replace(machine, power_max=500.0).power_min) / machine.speed_max[0]
    needed = resin.critical_dose * settings.pitch_fwhm * 0.1
    assert f"{level:.3f} mJ/mm" in TEXT
    assert f"{needed:.3f} mJ/mm" in TEXT
    assert level > 1.5 * needed
    filtered = 500 * 10**-1.7
    assert filtered == pytest.approx(machine.power_max, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES)
def test_its_examples_run(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from laserpath.config import profiles

    monkeypatch.chdir(tmp_path)
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    (tmp_path / "design.svg").symlink_to(ROOT / "samples" / "holes.svg")
    (tmp_path / "my-laser.toml").write_text(profiles.text("machine", "grbl-diode-405"), encoding="utf-8")
    names: dict[str, object] = {}
    if "import laserpath" not in example.splitlines()[0]:
        exec("import laserpath", names)  # the examples go on from one another
    exec(example, names)
