"""Pairs of lines forth and back: how late the laser is, and the slack of the axes, of charts as executed."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from builders import SPOT
from commands import run
from sets import one_fast
from synthetic import filled_in
from test_calibration_sheet import fill

import gcode
from laserpath import calibration, profiles
from laserpath.base.errors import InputError
from laserpath.calibration import Chart, Item, Measured, Measurements, fit_mechanics
from laserpath.calibration.measurements import Levels, Stated
from laserpath.machine.program import execute, lagged
from laserpath.types import Machine, Process, Resin

TRUE = {"laser_on_delay": 1.2e-3, "laser_off_delay": 0.8e-3, "backlash": (0.05, 0.12)}
MACHINES = {"grbl": Machine(), "klipper": Machine(dialect="klipper", steps=(80.0, 80.0), baud=None)}


def chart(machine: Machine) -> Chart:
    return calibration.chart(Process(SPOT, Resin(), machine))


def printed(made: Chart, machine: Machine) -> gcode.Moves:
    """The light of a chart's program on another machine."""
    read = gcode.read(made.program, gcode.dialect(machine.dialect), s_max=machine.s_max)
    process = replace(made.process, machine=machine)
    return lagged(execute(read.moves, np.append(0, read.characters[1:]), process), machine)


def middle(light: gcode.Moves, item: Item, side: float) -> float:
    """mm, along its axis, the middle of the line of a pair on one side: +1 the upper or right one."""
    along = "xy".index(item.along)
    ends = np.stack([light.xy[:-1], light.xy[1:]], axis=1)[light.on]
    centre = ends.mean(axis=1)
    place = np.array([item.x, item.y])
    place[1 - along] += side * item.gap / 2
    near = (np.abs(centre[:, 1 - along] - place[1 - along]) < item.gap / 3) & (
        np.abs(centre[:, along] - place[along]) < 0.6 * item.length
    )
    return float((ends[near][..., along].min() + ends[near][..., along].max()) / 2)


def measured(made: Chart, machine: Machine, error: float = 0.0) -> tuple[Measured, ...]:
    """Offsets as a microscope would see them."""
    light, rng = printed(made, machine), np.random.default_rng(1)
    found = []
    for item in (one for one in made.items if one.kind == "pair"):
        forth = 1 if item.along == "x" else -1
        offset = middle(light, item, forth) - middle(light, item, -forth) + error * rng.normal()
        found.append(Measured(item, offset=float(offset)))
    return tuple(found)


@pytest.mark.parametrize("dialect", one_fast(MACHINES, "grbl"))
def test_a_chart_tells_delay_and_slack_of_a_machine_that_states_none(dialect: str) -> None:
    machine = MACHINES[dialect]
    made = chart(machine)
    found = fit_mechanics(Measurements(measured(made, replace(machine, **TRUE))))
    assert found is not None
    assert found.delay.value == pytest.approx(1e-3, abs=5e-5)
    assert found.backlash["x"].value == pytest.approx(0.05, abs=0.006)
    assert found.backlash["y"].value == pytest.approx(0.12, abs=0.006)
    mended = found.machine(machine)
    assert mended.laser_on_delay == mended.laser_off_delay == found.delay.value


@pytest.mark.slow
def test_what_the_profile_states_is_made_up_for_and_added() -> None:
    stated = replace(MACHINES["klipper"], laser_on_delay=0.8e-3, laser_off_delay=0.4e-3, backlash=(0.05, 0.1))
    made = chart(stated)
    rows = measured(made, replace(stated, **TRUE))
    assert max(abs(row.offset or 0) for row in rows) < 0.05, "most is made up for"
    found = fit_mechanics(Measurements(rows, mechanics=Stated.of(stated)))
    assert found is not None
    assert found.delay.value == pytest.approx(1e-3, abs=5e-5)
    assert found.backlash["y"].value == pytest.approx(0.12, abs=0.006)
    mended = found.machine(stated)
    assert mended.laser_on_delay - mended.laser_off_delay == pytest.approx(0.4e-3), "their difference stays"


def pairs(error: float = 0.0, seed: int = 0) -> tuple[Measured, ...]:
    """o = 2 v d − b with d = 1 ms and b = 0.03 mm in x, 0.05 mm in y."""
    rng, rows = np.random.default_rng(seed), []
    for along, slack in (("x", 0.03), ("y", 0.05)):
        for speed in (48.0, 24.0, 12.0):
            item = Item(f"{along}{speed:g}", "pair", 1.0, speed, 2.5, along=along, gap=0.6)
            rows.append(Measured(item, offset=2 * speed * 1e-3 - slack + error * rng.normal()))
    return tuple(rows)


def test_exact_offsets_give_exact_values() -> None:
    found = fit_mechanics(Measurements(pairs()))
    assert found is not None
    assert [one.value for one in found.estimates] == pytest.approx([1e-3, 0.03, 0.05])
    assert found.scatter == pytest.approx(0, abs=1e-12)


def test_intervals_hold() -> None:
    """95 % of 400 charts, with 3 degrees of freedom; the standard deviation of their number is 4.4."""
    held = 0
    for seed in range(400):
        found = fit_mechanics(Measurements(pairs(0.004, seed)))
        assert found is not None
        held += found.delay.low <= 1e-3 <= found.delay.high
    assert 365 <= held <= 394


def test_one_speed_does_not_tell_delay_from_slack() -> None:
    rows = tuple(row for row in pairs() if row.item.speed == 24)
    with pytest.raises(
        InputError, match="does not tell a late laser from backlash; measure pairs of two speeds"
    ):
        fit_mechanics(Measurements(rows))
    apart = (pairs()[0], pairs()[4])  # another axis at another speed
    with pytest.raises(InputError, match="measure two speeds along x or y"):
        fit_mechanics(Measurements(apart))


def test_slack_that_may_be_none_is_not_written() -> None:
    """Its interval holds 0; that of the laser's delay does not."""
    tight = (replace(row, offset=(row.offset or 0) + 0.03 * (row.item.along == "x")) for row in pairs(0.002))
    found = fit_mechanics(Measurements(tuple(tight)))
    assert found is not None
    assert found.backlash["x"].low < 0 < found.backlash["x"].high
    mended = found.machine(replace(MACHINES["grbl"], backlash=(0.01, 0.0)))
    assert mended.backlash == (0.0, found.backlash["y"].value)
    assert mended.laser_on_delay == found.delay.value
    (told,) = (one for one in found.told() if "backlash in x" in one)
    assert told.endswith("it may be 0, so the profile gets none")


def test_as_many_pairs_as_unknowns_have_no_interval() -> None:
    found = fit_mechanics(Measurements(pairs()[:2]))
    assert found is not None
    assert not np.isfinite(found.delay.high)
    assert found.as_dict() == {"laser_delay_ms": [pytest.approx(1), None, None],
                               "backlash_x_um": [pytest.approx(30), None, None]}  # fmt: skip
    assert "measure the others" in " ".join(found.told())
    assert fit_mechanics(Measurements(())) is None


@pytest.mark.parametrize(
    ("kind", "sizes", "words"),
    [
        ("pair", {"width": 0.1}, "is a pair, which has no width"),
        ("line", {"offset": 0.1}, "is a line, which has no offset"),
        ("pair", {"offset": 50.0}, "an offset of 50000 µm, but it must be below 5 mm"),
    ],
)
def test_what_cannot_be_measured_is_refused(kind: str, sizes: dict[str, float], words: str) -> None:
    item = Item("M1", kind, 1.0, 20.0, 2.5, gap=0.6)
    with pytest.raises(InputError, match=words):
        Measured(item, **sizes)


@pytest.mark.slow
def test_sheet_and_fit_make_a_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stated = replace(profiles.machine("grbl-diode-405"), backlash=(0.02, 0.0))
    made = chart(stated)
    assert "# backlash_x_um = 20" in made.sheet().splitlines()
    offsets = dict(zip(("Q1", "Q2", "Q3", "Q4", "Q5", "Q6"), (60, 12, -12.5, 60, 12.2, -12), strict=True))
    rows = filled_in(np.random.default_rng(0), chart=made.items, levels=Levels.of(stated)).rows
    rows = tuple(
        replace(row, offset=offsets[row.item.id] / 1000) if row.item.kind == "pair" else row for row in rows
    )
    (tmp_path / "chart.csv").write_text(fill(made.sheet(), Measurements(rows)))
    args = ["fit", str(tmp_path / "chart.csv"), "--machine", "grbl-diode-405", "-o", str(tmp_path)]
    assert run(*args) == 0
    assert "the laser is late by 0.97" in capsys.readouterr().out
    table = tomllib.loads((tmp_path / "chart.machine.toml").read_text())
    assert table["laser_on_delay_ms"] == table["laser_off_delay_ms"] == pytest.approx(0.98, abs=0.02)
    assert table["backlash_mm"] == pytest.approx([0.056, 0.036], abs=0.002)
    assert profiles.machine(tmp_path / "chart.machine.toml").backlash[0] > 0.05
