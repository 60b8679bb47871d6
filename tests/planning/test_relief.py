"""Greyscale: the G-code that is written gives the dose, or the height, of the image."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import in_process
import numpy as np
import pytest
from commands import run
from PIL import Image

import gcode
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.config import project, request
from laserpath.design.reading import Black, Reading
from laserpath.machine import convert
from laserpath.machine.program import MachineProgram, Transmitted
from laserpath.physics import optics
from laserpath.physics.dose import DoseModel, accurate_model
from laserpath.physics.resin import cure_depth
from laserpath.planning.forecasts import Forecast
from laserpath.planning.optimise.loop import Progress
from laserpath.planning.relief import (
    forecast_relief,
    from_image,
    lay_out,
    load_relief,
    plan_layout,
    plan_relief,
)
from laserpath.planning.relief.layout import PITCH_FWHM, raster, with_runs
from laserpath.planning.relief.target import GreyTarget
from laserpath.simulation import simulate
from laserpath.types import Grid, Machine, Process, Relief, Resin, Settings, Spot, Toolpath

pytestmark = in_process.HERE

CURVE = Resin(critical_dose=0.134, e_c=0.085, penetration_depth=0.11)
FINE = Machine(steps=None, power_max=1.0)
PIXEL = 0.02


def png(ink: Floats) -> bytes:
    """An image of 8 bits; ink: row 0 lowest y."""
    buffer = io.BytesIO()
    Image.fromarray(np.rint(255 * (1 - ink[::-1])).astype(np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def lens(pixels: int = 90) -> Floats:
    """A paraboloid, 1 in the middle and 0 at three quarters of the half width."""
    x, y = np.meshgrid(*[(np.arange(pixels) - (pixels - 1) / 2) / (0.375 * pixels)] * 2)
    return np.clip(1 - x**2 - y**2, 0, 1)


def reading(grey: Black) -> Reading:
    return Reading(0.002, pixel=PIXEL, grey=grey)


def settings(iterations: int) -> Settings:
    """With room for the head to come up to speed."""
    return Settings(iterations=iterations, offset=(1, 1))


def relief_of(ink: Floats, grey: Black, resin: Resin = CURVE) -> Relief:
    return decoded(png(ink), grey, resin)


@cache
def decoded(data: bytes, grey: Black, resin: Resin) -> Relief:
    """Each image is decoded once, which takes a process of its own."""
    return from_image(data, "lens", reading(grey), resin)


@pytest.fixture(
    params=[pytest.param(Black(dose=0.2), marks=pytest.mark.slow), Black(height=0.06)], ids=["dose", "height"]
)
def grey(request: pytest.FixtureRequest) -> Black:
    black: Black = request.param
    return black


def test_black_has_the_given_dose_or_height(grey: Black) -> None:
    ink = lens()
    relief = relief_of(ink, grey)
    top = float(np.rint(255 * ink.max()) / 255)
    if grey.height is None:
        assert relief.height is None
        assert relief.dose.max() == pytest.approx(top * 0.2)
        assert np.allclose(relief.dose, ink * 0.2, atol=0.2 / 500)
    else:
        assert relief.height is not None
        assert relief.height.max() == pytest.approx(top * 0.06)
        cured = cure_depth(relief.dose, 0.085, 0.11)
        assert np.allclose(cured, relief.height, atol=1e-12), "the dose cures down to the target height"


def test_lines_lie_at_the_pitch_and_are_lit_where_there_is_a_target() -> None:
    grid = Grid((0.0, 0.0), 0.01, (100, 150))
    dose = np.zeros(grid.shape)
    dose[20:80, 30:70] = 1
    xy, lit = raster(dose, grid, 0.1, 0.05)
    rows = np.unique(xy[:, 1])
    assert np.diff(rows) == pytest.approx(PITCH_FWHM * 0.1, rel=0.15)
    assert rows[0] == pytest.approx(0.2, abs=0.06)
    assert rows[-1] == pytest.approx(0.79, abs=0.06)
    middle = (xy[1:, 0] + xy[:-1, 0])[lit] / 2
    assert middle.min() > 0.3 - 0.11
    assert middle.max() < 0.69 + 0.11
    assert np.abs(np.diff(xy, axis=0)[lit][:, 1]).max() == 0, "only level lines shine"


def test_the_residual_has_the_slope_of_its_differences(grey: Black) -> None:
    rng = np.random.default_rng(3)
    shape = (20, 30)
    height = None if grey.height is None else np.where(rng.random(shape) < 0.3, 0, rng.random(shape) * 0.06)
    target = GreyTarget(rng.random(shape), height, CURVE)
    dose = rng.uniform(0.01, 0.3, shape)
    step = 1e-7
    slope = (target.residual(dose + step)[0] - target.residual(dose - step)[0]) / (2 * step)
    assert np.allclose(slope, target.residual(dose)[1], rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_a_flat_area_gets_its_dose() -> None:
    """Lines a pitch below the spot's cut-off leave no ripple, and the energy is the dose times the area."""
    ink = np.zeros((100, 100))
    ink[20:80, 20:80] = 1
    process = Process(machine=replace(FINE, power_levels=100_000))
    plan = plan_relief(relief_of(ink, Black(dose=0.2)), process, settings(60))
    x, y = np.meshgrid(plan.grid.x(), plan.grid.y())
    inside = (abs(x - 2) < 0.4) & (abs(y - 2) < 0.4)
    assert plan.dose[inside] == pytest.approx(0.2, rel=0.03)
    lit = plan.toolpath.on
    energy = float((plan.toolpath.line_energy * plan.toolpath.length)[lit].sum())
    # What the spot carries over the edge has to be made up for.
    assert 1 < energy / (0.2 * 1.2**2) < 1.1, "mJ: dose times area"


def test_the_result_is_near_the_target(grey: Black) -> None:
    plan = plan_relief(relief_of(lens(), grey), Process(resin=CURVE, machine=FINE), settings(80))
    limit = 0.02 if grey.height is None else 0.06
    assert plan.commanded.rmse < limit
    assert plan.executed.rmse < 1.5 * limit
    assert plan.loss[-1] < 0.2 * plan.loss[0] or plan.loss[0] < 1e-3
    assert not plan.warnings


def test_reported_figures_are_those_of_the_file(grey: Black) -> None:
    process = Process(resin=CURVE, machine=FINE)
    plan = plan_relief(relief_of(lens(50), grey), process, settings(30))
    parsed = gcode.read(plan.program, gcode.dialect("grbl"), process.machine.s_max)
    (x0, y0, x1, y1), x, y = plan.design.bounds, plan.grid.x(), plan.grid.y()

    def rmse(path: Toolpath) -> float:
        dose = accurate_model(plan.grid, process.spot).dose(path)
        wrong = plan.target.residual(dose)[0][(y0 <= y) & (y <= y1)][:, (x0 <= x) & (x <= x1)]
        return float(np.sqrt(np.mean(wrong**2)) / plan.target.black)

    path, row = convert.toolpath_of(parsed.moves, process.machine)
    sent = Transmitted.of(parsed.characters, row, plan.program.count("\n"))
    read = MachineProgram.of(path, process, sent)
    assert rmse(read.executed) == pytest.approx(plan.executed.rmse)
    assert plan.executed.rmse == pytest.approx(plan.commanded.rmse, rel=0.3)


def test_ends_of_lines_are_as_their_middles() -> None:
    """The head is at speed where the light begins: without the dark runs it would not be."""
    ink = np.zeros((60, 100))
    ink[20:40, 20:80] = 1
    # The link is no matter here: powers of six digits would slow it down.
    process = Process(machine=replace(FINE, power_levels=100_000, baud=None))
    plan = plan_relief(relief_of(ink, Black(dose=0.2)), process, settings(40))
    dose = accurate_model(plan.grid, process.spot).dose(plan.toolpath)
    assert np.abs(plan.dose - dose).max() < 0.03 * dose.max()


def test_runs_end_where_the_machine_ends() -> None:
    path = Toolpath(np.array([[0.1, 1.0], [2.0, 1.0]]), np.ones(1), np.full(1, 10.0))
    longer, roomy = with_runs(path, 0.5, 0.0, 10.0)
    assert not roomy
    assert longer.xy[:, 0].tolist() == pytest.approx([0.0, 0.1, 2.0, 2.5])
    assert longer.power.tolist() == [0, 1, 0]
    longer, roomy = with_runs(path, 0.05, 0.0, 10.0)
    assert roomy
    assert longer.xy[0, 0] == pytest.approx(0.05)


def test_two_photons_too() -> None:
    resin = Resin(critical_dose=1e9, order=2)
    spot = Spot(0.0005)
    relief = from_image(png(lens(40)), "lens", Reading(1e-5, pixel=1e-4, grey=Black(dose=2e9)), resin)
    machine = Machine(power_max=0.6, speed_max=(0.05, 0.05), segment_rate=1000, steps=(1e5, 1e5))
    plan = plan_relief(relief, Process(spot, resin, machine), settings(40))
    assert plan.commanded.rmse < 0.06


def test_a_motor_step_wider_than_the_spot_is_refused_before_anything_is_laid_out() -> None:
    process = Process(Spot(0.001), machine=Machine(steps=(250.0, 250.0)))
    with pytest.raises(InputError, match=r"a motor step of machine .* is 4 µm, 4 times the spot's FWHM"):
        lay_out(relief_of(lens(40), Black(dose=2.0)), process)


def test_risky_input_is_warned_of() -> None:
    plan = plan_relief(relief_of(lens(40), Black(dose=2.0)), Process(), Settings(iterations=3))
    warnings = " ".join(plan.warnings)
    assert re.search(r"9\.9\d critical doses, above the resin's limit of 3 ", warnings)
    assert "off the machine" in warnings
    coarse = plan_relief(relief_of(lens(40), Black(dose=0.05)), Process(), settings(3))
    assert "power levels" in " ".join(coarse.warnings)


def test_the_forecast_is_near_the_plan(grey: Black) -> None:
    layout = lay_out(relief_of(lens(), grey), Process(resin=CURVE, machine=FINE), settings(40))
    expected = forecast_relief(layout)
    assert expected.warnings == ()
    took = plan_layout(layout).executed.write_time
    assert expected.write_seconds == pytest.approx(took, rel=0.2)


@pytest.mark.parametrize("baud", [9600, 115200])
def test_a_slow_line_counts(baud: int) -> None:
    """What is reported is what the same file takes and exposes when it is simulated, its lines sent."""
    process = Process(machine=replace(FINE, baud=baud))
    plan = plan_relief(relief_of(lens(), Black(dose=0.2)), process, settings(10))
    again = simulate(plan.program, process)
    assert plan.executed.write_time == pytest.approx(again.run.write_time, rel=1e-9)
    assert plan.executed.dose_max == pytest.approx(float(again.executed.dose.max()), rel=0.02)


def test_more_to_do_takes_longer() -> None:
    def forecast_of(pixels: int, **changed: object) -> Forecast:
        relief = relief_of(lens(pixels), Black(dose=0.2))
        return forecast_relief(lay_out(relief, Process(machine=FINE), replace(settings(40), **changed)))

    small, large = forecast_of(90), forecast_of(270)
    assert 4 < large.write_seconds / small.write_seconds < 12, "nine times the area, and one begin"
    assert large.plan_seconds > small.plan_seconds and large.memory > small.memory
    twice = forecast_of(90, passes=2).write_seconds
    assert 1.9 < twice / small.write_seconds < 2, "two passes, and one begin"


@pytest.mark.slow
def test_a_weak_laser_goes_slower_and_black_still_gets_its_dose() -> None:
    """Power in levels fine enough that only the weakness counts."""
    weak = Machine(power_max=0.2, power_levels=100_000)
    layout = lay_out(relief_of(lens(), Black(dose=0.2)), Process(machine=weak), settings(60))
    assert layout.speed < min(weak.speed_max)
    (note,) = forecast_relief(layout).notes
    assert note.startswith("full power, 0.2 mW, writes black at about")
    plan = plan_layout(layout)
    assert plan.commanded.rmse < 0.02
    assert plan.executed.write_time == pytest.approx(forecast_relief(layout).write_seconds, rel=0.2)


def test_a_slow_link_is_reported() -> None:
    slow = replace(FINE, segment_rate=50.0)
    layout = lay_out(relief_of(lens(), Black(dose=0.2)), Process(machine=slow), settings(5))
    (note,) = forecast_relief(layout).notes
    assert note.startswith("the link carries 50 moves/s, each of half a spot: lines are written at 2.5 mm/s")


def test_fewer_pixels_than_requested_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("laserpath.design.target.PIXELS_MAX", 20_000)
    fine = replace(settings(5), pixels_per_fwhm=6.0)
    layout = lay_out(relief_of(lens(), Black(dose=0.2)), Process(machine=FINE), fine)
    assert layout.settings.pixels_per_fwhm < layout.requested
    (warning,) = forecast_relief(layout).warnings
    assert "pixels per FWHM instead of" in warning


def test_a_laser_too_strong_for_black_is_refused_before_planning() -> None:
    process = Process(machine=replace(FINE, power_max=2000.0))
    relief = relief_of(lens(), Black(dose=0.01))
    with pytest.raises(InputError, match=r"would expose nothing; attenuate .* power_max_mW = ") as refusal:
        forecast_relief(lay_out(relief, process, settings(40)))
    power = float(str(refusal.value).rsplit("power_max_mW = ", 1)[1])
    advised = replace(process, machine=replace(FINE, power_max=power))
    assert not plan_relief(relief, advised, settings(10)).warnings, "the filter is right at the first time"


def test_a_stopped_search_is_the_first_warning() -> None:
    stages: list[str] = []

    def stop(now: Progress) -> None:
        stages.append(now.stage)
        if now.iteration == 2:
            raise KeyboardInterrupt

    ink = np.random.default_rng(5).random((60, 60))
    plan = plan_relief(relief_of(ink, Black(dose=0.2)), Process(machine=FINE), settings(40), stop)
    assert plan.warnings[0] == "the optimiser was stopped by the user after 2 of 40 iterations"
    assert stages == ["powers", "powers", "measure"]
    assert plan.executed.write_time > 0, "what there is, is finished"


@pytest.mark.slow
def test_strokes_are_reported_as_they_are_laid_and_fitted_and_may_be_stopped() -> None:
    relief, few = relief_of(lens(50), Black(dose=0.2)), settings(4)
    few = replace(few, initial="strokes", strokes=12)
    steps: list[tuple[str, int]] = []

    def progress(now: Progress, last: int = 1000) -> None:
        steps.append((now.stage, now.iteration))
        if now.stage == "fit" and now.iteration == last:
            raise KeyboardInterrupt

    plan_relief(relief, Process(machine=FINE), few, progress)
    fits = [k for stage, k in steps if stage == "fit"]
    assert fits == list(range(1, len(fits) + 1))
    assert 12 < len(fits) <= 72
    for last in (5, 15):  # while they are laid, and while they are fitted
        steps.clear()
        plan = plan_relief(relief, Process(machine=FINE), few, partial(progress, last=last))
        assert steps[-2:] == [("fit", last), ("measure", 0)]
        assert plan.warnings[0].startswith("the fit of the strokes was stopped by the user")
        assert plan.executed.write_time > 0


def test_few_strokes_stay_on_the_picture_and_say_what_they_leave_out() -> None:
    ink = np.random.default_rng(3).random((60, 80))
    few = replace(settings(2), initial="strokes", strokes=2)
    plan = plan_relief(relief_of(ink, Black(dose=0.2)), Process(machine=FINE), few)
    assert re.fullmatch(
        r"2 strokes leave \d+% of the wanted dose out; more --strokes, up to 10000, .*", plan.warnings[-1]
    )
    x0, y0, x1, y1 = plan.design.bounds
    lit = plan.toolpath.on
    xy, room = np.concatenate([plan.toolpath.xy[:-1][lit], plan.toolpath.xy[1:][lit]]), 0.05
    assert (xy >= np.array([x0, y0]) - room).all() and (xy <= np.array([x1, y1]) + room).all()


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no working curve"):
        relief_of(lens(40), Black(height=0.06), Resin())
    with pytest.raises(InputError, match="is blank"):
        relief_of(np.zeros((9, 9)), Black(dose=0.1))
    with pytest.raises(InputError, match="how large its pixels are"):
        from_image(png(lens(40)), "lens", Reading(0.1, grey=Black(dose=0.1)), CURVE)
    with pytest.raises(InputError, match="give one of them"):
        Black()
    with pytest.raises(InputError, match="above 0"):
        Black(dose=-1.0)
    (tmp_path / "a.svg").write_text("<svg/>")
    with pytest.raises(InputError, match="is SVG, which has no greys"):
        load_relief(tmp_path / "a.svg", reading(Black(dose=1.0)), CURVE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lens.png").write_bytes(png(lens(40)))
    return tmp_path


@pytest.mark.slow
def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = "--pixel 20um --grey 60um --resin working-curve --offset 1,1 --iterations 8"
    assert run("plan", "lens.png", *options.split(), "--json") == 0
    out, err = capsys.readouterr()
    assert re.search(r"about .* to plan, with .* of memory; about .* to write", err)
    result = json.loads(out)
    assert result["wanted"] == "height"
    assert sorted(Path(f).name for f in result["files"]) == [
        "lens.gcode",
        "lens.report.html",
        "lens.toolpath.svg",
    ]
    text = (folder / "lens.report.html").read_text()
    assert "root mean square" in text
    head = [line.lstrip("; ") for line in Path("lens.gcode").read_text().splitlines() if line[:1] == ";"]
    Path(project.NAME).write_text("\n".join(head[head.index(f"{project.NAME}, to plan this again:") + 1 :]))
    again = project.load(project.NAME).values
    assert again["grey"] == Black(height=0.06)
    assert request.settings_of(again, 0.1).offset == (1, 1)
    assert run("plan", "-o", "again", "-q") == 0
    assert (folder / "again" / "lens.gcode").read_text() == (folder / "lens.gcode").read_text()


@pytest.mark.slow
def test_strokes_take_the_place_of_the_raster(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = "--pixel 20um --grey 60mJ/cm2 --initial strokes --strokes 24 --iterations 20 --json -q"
    assert run("plan", "lens.png", *options.split()) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["executed"]["rmse"] < 0.2
    text = (folder / "lens.report.html").read_text()
    assert all(word in text for word in ("Target, and as executed", "and of the error"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--grey 60mJ/cm2 --initial contour", "--initial is for drawings"),
        ("--grey 60", "has no unit; give a height"),
        ("--grey 60um", "has no working curve"),
        ("--grey 80mJ/cm2 --rotate 90", "rotate is for drawings"),
        ("--grey 80mJ/cm2 --sensitivity", "--sensitivity cannot be used with --grey: it compares"),
    ],
)
def test_bad_options_are_refused(
    folder: Path, options: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("plan", "lens.png", "--pixel", "20um", *options.split()) == 2
    assert words in capsys.readouterr().err
    assert [p.name for p in folder.iterdir()] == ["lens.png"]


def test_the_adjoint_is_that_of_the_loss() -> None:
    """The gradient for L-BFGS-B equals central differences, through the whole dose."""
    spot = Spot()
    grid = Grid((0.0, 0.0), optics.fwhm(spot) / 6, (40, 60))
    model = DoseModel(grid, spot, precision="f64", tolerance=1e-6)
    xy = np.stack([np.linspace(0.3, 0.7, 9), np.full(9, 0.3)], axis=1)
    target = GreyTarget(np.full(grid.shape, 0.05), np.full(grid.shape, 0.02), CURVE)
    energy = np.full(8, 0.01)

    def loss(q: Floats) -> float:
        return 0.5 * float(np.mean(target.residual(model.line_dose(xy, q))[0] ** 2))

    error, slope = target.residual(model.line_dose(xy, energy))
    gradient = model.line_gradient(xy, energy, error * slope / error.size).line_energy
    for k in (0, 4):
        step = np.zeros(8)
        step[k] = 1e-6
        assert gradient[k] == pytest.approx((loss(energy + step) - loss(energy - step)) / 2e-6, rel=1e-4)
