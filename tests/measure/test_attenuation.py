"""A laser that is too strong or too weak is refused, and the filter that the error names helps."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import shapely
from builders import expose
from hypothesis import given
from hypothesis import strategies as st

import laserpath
from laserpath.base.errors import InputError
from laserpath.config import profiles
from laserpath.design.target import grid_for, rasterise
from laserpath.machine.attenuation import LEVELS, check_exposes, check_process, strength, too_strong
from laserpath.machine.convert import dialect_of
from laserpath.measure.exposure import lost_in_motion
from laserpath.physics import optics
from laserpath.physics.resin import line_energy
from laserpath.planning import forecast
from laserpath.types import Design, Machine, Process, Resin, Settings, Spot, Toolpath

STAGE = profiles.machine("linuxcnc-stage-405")
CELL = Design(shapely.box(0, 0, 0.0255, 0.0025), "cell")
FINE = Process(Spot(0.001), Resin(), STAGE)
STRONG = replace(FINE, machine=replace(STAGE, power_max=10.0))
QUICK = Settings(initial="contour", iterations=4, report="brief")


@given(
    power=st.floats(1e-3, 1e4), fwhm=st.floats(3e-4, 0.3), length=st.floats(1e-4, 50), order=st.integers(1, 3)
)
def test_behind_the_filter_a_line_has_levels_to_choose(power, fwhm, length, order):
    process = Process(Spot(fwhm), Resin(order=order), Machine(power_max=power))
    design = Design(shapely.box(0, 0, length, length / 3))
    laser = strength(process, Settings(), design)
    behind = strength(
        replace(process, machine=replace(process.machine, power_max=power / 10**laser.density)),
        Settings(),
        design,
    )
    # The density is in tenths, rounded up from a hundredth on.
    assert behind.levels >= LEVELS * 10**-0.0101 - 1 or laser.density == 0
    assert behind.ratio == pytest.approx(laser.ratio / 10**laser.density)
    # A line at that power and speed has the line energy D_c · pitch, or more if shorter than the spot.
    energy = line_energy(laser.power, laser.speed, process.spot)
    assert energy >= process.resin.critical_dose * 1.2 * optics.fwhm(process.spot) * (1 - 1e-9)
    assert bool(too_strong(process, Settings(), design)) == laser.poor
    assert laser.poor or laser.ratio < 1


BIG = Design(shapely.box(0, 0, 5, 5), "big")


def bare(power: float) -> Process:
    return Process(machine=Machine(power_max=power))


def test_a_bare_diode_is_refused_before_planning_with_the_filter_of_the_readme():
    for ask in (
        lambda: check_process(bare(500), Settings(), BIG),
        lambda: forecast(BIG, bare(500), Settings()),
    ):
        with pytest.raises(
            InputError, match=r"too strong.* 3\.26 times .*limit of 3 .*density 1\.7: .*= 10$"
        ):
            ask()
    check_process(bare(400), Settings(), BIG)


def test_too_few_levels_are_told_before_planning_with_the_filter():
    (told,) = too_strong(bare(150), Settings(), BIG)
    assert re.search(
        r"too strong: only 1 of the 255 power levels .* lies below the 1\.2 mW .* at 50 mm/s; .*density 1\.2",
        told,
    )
    assert forecast(BIG, bare(150), Settings()).warnings == (told,)
    assert not too_strong(bare(10), Settings(), BIG)


def test_levels_that_do_not_lase_are_not_usable():
    shifted = Machine(power_max=20, level_min=26, level_offset=-25)
    found = strength(Process(machine=shifted), Settings(), BIG)
    assert found.usable == pytest.approx(1.2 / 20 * 230)


def test_a_cell_that_would_be_left_dark_is_refused_before_planning(monkeypatch):
    monkeypatch.setattr("laserpath.planning.pipeline.start_curve", lambda *_: pytest.fail("planned"))
    with pytest.raises(InputError, match="a LinuxCNC stage") as caught:
        laserpath.plan(CELL, replace(STRONG, machine=replace(STRONG.machine, power_max=100.0)))
    assert re.search(r"is [\d.]+ times what a line of 1 µm needs", str(caught.value))
    assert re.search(r"optical density [\d.]+: power_max_mW = [\d.]+", str(caught.value))


@pytest.mark.slow
def test_a_program_that_exposes_nothing_is_refused_and_the_filter_helps():
    with pytest.raises(InputError, match="would expose nothing") as caught:
        laserpath.plan(CELL, STRONG, QUICK)
    power = float(re.search(r"power_max_mW = ([\d.]+)", str(caught.value))[1])
    made = laserpath.plan(CELL, replace(STRONG, machine=replace(STAGE, power_max=power)), QUICK)
    assert made.report.executed.figures.undercure < 0.1 * CELL.area.area


@pytest.mark.slow
def test_the_stage_writes_a_small_cell():
    made = laserpath.plan(CELL, FINE, QUICK)
    assert made.report.executed.figures.undercure < 0.1 * CELL.area.area


def test_a_path_that_is_dark_is_measured_without_an_error():
    target = rasterise(CELL, grid_for(CELL, FINE.spot, 4))
    dark = Toolpath(np.array([[0.0, 0], [0.02, 0]]), np.zeros(1), np.full(1, 50.0))
    executed = expose(dark, CELL, target, FINE).commanded
    commanded = replace(executed, figures=replace(executed.figures, undercure=0.0, missing_edges=0))
    executed = replace(executed, motion=replace(executed.motion, segment_rate=600.0))
    lost = lost_in_motion(commanded, executed, dark, CELL, FINE)
    assert lost is not None
    assert str(lost).endswith("nothing of it is lit")


def test_a_path_that_was_never_lit_is_not_the_laser_s_fault():
    dark = Toolpath(np.array([[0.0, 0], [0.02, 0]]), np.zeros(1), np.full(1, 50.0))
    with pytest.raises(InputError, match="too fine for the spot of 1 µm"):
        check_exposes(dark, dark, dark, CELL, FINE, Settings())


def test_a_weak_laser_is_refused_with_the_missing_factor():
    with pytest.raises(InputError, match=r"more than [\d.e+]+ times the power"):
        check_process(replace(FINE, machine=replace(STAGE, power_max=1e-9)), Settings())


def test_linuxcnc_blends_within_the_profile_s_deviation():
    assert "G64 P0.0001 Q0.0001" in dialect_of(STAGE).header
    assert "G64 P0.02 Q0.02" in dialect_of(replace(STAGE, junction_deviation=0.02)).header
    grbl = profiles.machine("grbl-diode-405")
    assert dialect_of(grbl).header == ("G21", "G90", "G17", "G94")


@pytest.mark.slow
@pytest.mark.parametrize("machine", profiles.shipped("machine"))
@pytest.mark.parametrize("spot", [*profiles.shipped("spot"), "0.0005", "0.001", "0.003", "0.01"])
@pytest.mark.parametrize("resin", profiles.shipped("resin"))
def test_every_profile_exposes_something_or_is_refused_with_a_factor(machine, spot, resin):
    beam = Spot(float(spot)) if spot[0].isdigit() else profiles.spot(spot)
    process = Process(beam, profiles.resin(resin), profiles.machine(machine))
    fwhm = optics.fwhm(process.spot)
    tiny = Design(shapely.box(0, 0, 4 * fwhm, 3 * fwhm), "tiny", page=(-fwhm, -fwhm, 5 * fwhm, 4 * fwhm))
    refused = ""
    try:
        made = laserpath.plan(tiny, process, replace(QUICK, origin="design"))
        assert made.report.commanded.dose.max() > process.resin.critical_dose
        # The dose that a slow head loses by M4 with two photons is the subject of a warning.
        assert made.report.executed.dose.max() > 0
    except InputError as error:
        refused = str(error)
    its_own = machine == "linuxcnc-stage-405" and fwhm < 0.012 and process.resin.order == 1
    assert not refused or (not its_own and re.search(r"[\d.e+]+ times", refused))
