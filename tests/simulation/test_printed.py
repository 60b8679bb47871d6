"""A photograph of a print, made up here, tells the spot and the dose that printed it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import shapely
from builders import design
from commands import run
from PIL import Image
from scipy.ndimage import distance_transform_edt, gaussian_filter, map_coordinates
from shapely import Point, box
from shapes import NODING

import laserpath
from laserpath import Plan, Process, Settings, Simulation, Spot
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.calibration.photographs import Sight, read_photograph, seen_by_marks
from laserpath.config import profiles
from laserpath.design.scene import Scene
from laserpath.machine.program import MachineProgram
from laserpath.measure.exposure import Exposure
from laserpath.measure.window import edges_of
from laserpath.physics.dose import accurate_model
from laserpath.physics.dose.uneven import acting
from laserpath.physics.resin import development
from laserpath.simulation.printed import MOST_DOSE
from laserpath.types import Design, DoseMap, Fiducial

FWHM = 0.08
PIXEL = 0.012
"""mm, of the photographs."""
_FINE = 24
"""Pixels per FWHM of the print that is photographed: fewer would not hold its edges."""


def drawing() -> Design:
    """Wide and narrow parts, a hole, bars and discs: 2.5 × 1.6 mm."""
    parts = [
        shapely.difference(box(0, 0, 1.2, 0.9), Point(0.6, 0.45).buffer(0.25), grid_size=NODING),
        box(1.4, 0, 1.5, 1.6), box(1.62, 0, 1.8, 1.6), box(2, 0, 2.1, 0.7), box(2, 0.9, 2.5, 1.6),
        box(2.25, 0, 2.5, 0.75), Point(0.3, 1.3).buffer(0.22), Point(0.9, 1.3).buffer(0.12),
    ]  # fmt: skip
    return design(*parts, name="part")


def tilted(design: Design, by: float) -> DoseMap:
    """e^−by of the dose at the left end of the design, e^by at the right one."""
    logs = by * (2 * (np.arange(4) - 1) - 1)
    return DoseMap(design.bounds, (4, 4), tuple(np.tile(logs, 4).tolist()))


@dataclass(frozen=True)
class Camera:
    """How a photograph is taken. turn: degrees.  quarters: turns of the whole.  dust: specks."""

    pixel: float = PIXEL
    turn: float = 2.0
    quarters: int = 0
    dust: int = 8
    noise: float = 0.03
    stretch: float = 1.0
    shrunk: tuple[float, float] = (1.0, 1.0)

    def sight(self, scene: Scene) -> tuple[Sight, tuple[int, int]]:
        """What is seen at which pixel, and the photograph's shape."""
        x0, x1, y0, y1 = scene.grid.extent
        width, height = (int(1.3 * side / self.pixel) for side in (self.stretch * (x1 - x0), y1 - y0))
        cos, sin = np.cos(np.radians(self.turn)), np.sin(np.radians(self.turn))
        matrix = np.array([[self.stretch, 0], [0, 1]]) @ np.array([[cos, -sin], [-sin, -cos]]) / self.pixel
        matrix = matrix * self.shrunk  # along the axes of the machine, before it is turned
        middle = np.array([x0 + x1, y0 + y1]) / 2
        return Sight(matrix, np.array([width / 2 + 7, height / 2 - 5]) - matrix @ middle), (height, width)

    def of(self, program: MachineProgram, truth: Process, scene: Scene, seed: int = 0) -> Floats:
        """The photograph of what a program prints in truth, sharp edges that the camera blurs."""
        sight, shape = self.sight(scene)
        scene = Scene.around(scene.design, truth.spot, truth.resin, _FINE)
        dose = accurate_model(scene.grid, truth.spot).dose(program.executed)
        print_ = development(dose, replace(truth.resin, contrast=100.0))
        if bias := truth.resin.development_bias:
            solid = print_ >= 0.5
            inside, outside = (distance_transform_edt(one) for one in (solid, ~solid))
            depth = inside - outside - np.where(solid, 0.5, -0.5)  # pixels, of their centres
            print_ = np.clip(0.5 + depth + bias / scene.grid.pitch, 0.0, 1.0)
        row, column = np.indices(shape)
        pixels = np.stack([column.ravel(), row.ravel()], axis=1) - sight.at
        at = scene.grid.to_pixels(pixels @ np.linalg.inv(sight.matrix).T)
        seen = map_coordinates(print_, at.T[::-1], order=3).reshape(shape)
        picture = (0.75 - 0.45 * gaussian_filter(seen, 1.0)) * (1 + 0.15 * (column / shape[1] - 0.5))
        rng = np.random.default_rng(seed)
        for _ in range(self.dust):
            r, c, radius = rng.integers(5, shape[0]), rng.integers(5, shape[1]), rng.integers(2, 6)
            picture[np.hypot(row - r, column - c) < radius] = 0.1
        picture += self.noise * rng.normal(size=shape)
        return np.rot90(np.round(255 * np.clip(picture, 0, 1)), self.quarters)


@dataclass(frozen=True)
class Printed:
    """A plan that knows nothing, and the machine in truth."""

    plan: Plan
    simulated: Simulation
    truth: Process
    scene: Scene


ASSUMED = Process(Spot(FWHM), profiles.resin(), profiles.machine("grbl-diode-405"))
SETTINGS = Settings(iterations=2, initial="contour", report="brief", origin="design")


def simulated(plan: Plan, process: Process) -> Simulation:
    """The plan's own program as it should print."""
    return laserpath.simulate(plan.shipped.text, process, plan.design, replace(plan.settings, origin="own"))


def in_truth(plan: Plan, truth: Process) -> Scene:
    """The scene of a plan's design on the true machine."""
    return Scene.around(plan.design, truth.spot, truth.resin, 8)


slow = pytest.mark.slow


@pytest.fixture(scope="module")
def printed() -> Printed:
    """A rough plan: what it prints is compared with what it should have printed, not with the drawing."""
    plan = laserpath.plan(drawing(), ASSUMED, SETTINGS)
    spot = Spot(1.1 * FWHM, dose_map=tilted(plan.design, 0.1))
    truth = replace(ASSUMED, spot=spot)
    return Printed(plan, simulated(plan, ASSUMED), truth, in_truth(plan, truth))


def edges(printed: Printed, spot: Spot) -> Floats:
    """(M,) mm, where a spot prints the edges of the rough plan."""
    scene = printed.simulated.executed.scene
    wide = spot.fwhm / FWHM
    mapped = replace(scene, spot=replace(scene.spot, dose_map=spot.dose_map))
    epe, missing = edges_of(printed.plan.shipped.executed, mapped, (1.0,), (wide,))
    return np.where(missing[0, 0] | scene.samples.corner, 0.0, epe[0, 0])


def photograph(printed: Printed, camera: Camera, seed: int = 0) -> Floats:
    return camera.of(printed.plan.shipped, printed.truth, printed.scene, seed)


@slow
def test_spot_and_dose_are_found_in_a_photograph(printed: Printed) -> None:
    fit = laserpath.fit_photograph(printed.simulated, photograph(printed, Camera()), pixel=PIXEL)
    assert fit.pixel == pytest.approx(PIXEL, rel=2e-3)
    assert fit.turn == pytest.approx(2.0, abs=0.1)
    assert fit.width[0] == pytest.approx(1.1, abs=0.05)
    assert fit.found > 0.9 * fit.of
    assert fit.after < fit.before
    off = [
        np.abs(edges(printed, spot) - edges(printed, printed.truth.spot)).mean()
        for spot in (fit.spot, ASSUMED.spot)
    ]
    assert off[0] < 0.15 * off[1]
    left, right = np.array([[0.1, 0.8], [2.4, 0.8]])
    found, true = (
        acting(spot.dose_map, np.stack([left, right]))[0] for spot in (fit.spot, printed.truth.spot)
    )
    assert found[1] / found[0] == pytest.approx(true[1] / true[0], abs=0.06)
    assert fit.thin[0] < 0.5
    assert fit.thick[0] > 2.0


@slow
def test_the_report_shows_where_more_or_less_of_the_dose_acts(printed: Printed) -> None:
    assert "Where more or less of the dose acts" not in printed.simulated.page()
    made = replace(tilted(printed.plan.design, 0.1), prints=2)
    page = simulated(printed.plan, replace(ASSUMED, spot=Spot(FWHM, dose_map=made))).page()
    assert "Where more or less of the dose acts" in page
    assert "told by 2 prints" in page


@slow
def test_more_than_the_limit_is_said_and_not_corrected(printed: Printed) -> None:
    dark = DoseMap(printed.plan.design.bounds, (4, 4), (float(np.log(0.62)),) * 16)
    photo = Camera().of(printed.plan.shipped, replace(ASSUMED, spot=Spot(FWHM, dose_map=dark)), printed.scene)
    fit = laserpath.fit_photograph(printed.simulated, photo, pixel=PIXEL)
    assert fit.limited > 0.3
    assert fit.dose[0] > 1 / (1 + MOST_DOSE) - 0.01
    assert any("is the most that is corrected at once" in sentence for sentence in fit.sentences())


@slow
def test_the_program_of_another_place_is_refused(printed: Printed) -> None:
    elsewhere = printed.plan.design.moved(0.7, 0.4)
    found = laserpath.simulate(printed.plan.shipped.text, ASSUMED, elsewhere, replace(SETTINGS, origin="own"))
    with pytest.raises(InputError, match="with the same work zero"):
        laserpath.fit_photograph(found, photograph(printed, Camera()), pixel=PIXEL)


@slow
@pytest.mark.parametrize("known", [{"pixel": PIXEL}, {}], ids=["pixel", "outline"])
def test_a_print_that_has_shrunk_as_its_resin_does_asks_for_nothing(known: dict[str, float]) -> None:
    """By 3 and 1 %, and its edges lie a tenth of the spot farther out after development."""
    resin = replace(ASSUMED.resin, shrinkage=(0.03, 0.01, 0.0), development_bias=0.008)
    process = replace(ASSUMED, resin=resin)
    plan = laserpath.plan(drawing(), process, SETTINGS)
    as_simulated = laserpath.simulate(plan.shipped.text, process, drawing(), SETTINGS)
    photo = Camera(shrunk=(0.97, 0.99)).of(plan.shipped, process, in_truth(plan, process))
    fit = laserpath.fit_photograph(as_simulated, photo, **known)
    assert fit.pixel == pytest.approx(PIXEL, rel=2e-3 if known else 6e-3)
    assert fit.width[0] == pytest.approx(1.0, abs=0.05)
    # A pixel of the print that is made up here is 0.04 FWHM: 6 % of the dose where u rises by 1.5 in one.
    assert fit.dose == pytest.approx((1, 1, 1), abs=0.07)
    assert fit.before < 0.04 * FWHM


@slow
def test_a_print_as_planned_asks_for_nothing(printed: Printed) -> None:
    photo = Camera().of(printed.plan.shipped, ASSUMED, printed.scene)
    fit = laserpath.fit_photograph(printed.simulated, photo, pixel=PIXEL)
    assert fit.width[0] == pytest.approx(1.0, abs=0.05)
    assert fit.dose == pytest.approx((1, 1, 1), abs=0.04)


@slow
def test_marks_and_a_quarter_turn_tell_the_same(printed: Printed) -> None:
    upright = photograph(printed, Camera())
    sight, _ = Camera().sight(printed.scene)
    places = np.array([[0.0, 0.0], [2.5, 0.0], [2.5, 1.6], [0.0, 1.6]])
    marks = [
        Fiducial(tuple(pixel), tuple(xy)) for pixel, xy in zip(sight.pixels(places), places, strict=True)
    ]
    by_marks = laserpath.fit_photograph(printed.simulated, upright, marks)
    on_its_side = laserpath.fit_photograph(printed.simulated, np.rot90(upright), pixel=PIXEL)
    assert on_its_side.turn == pytest.approx(92, abs=0.2)
    for fit in (by_marks, on_its_side):
        assert fit.width[0] == pytest.approx(1.1, abs=0.05)
        assert fit.dose[2] / fit.dose[0] == pytest.approx(np.exp(0.2), abs=0.06)


@slow
@pytest.mark.parametrize(
    ("camera", "pixel", "sentence"),
    [
        (Camera(pixel=0.022), None, "pixels are 22.* um on the print, but must be at most a quarter"),
        (Camera(stretch=1.1), None, "larger than another"),
        (Camera(), 0.0135, "were given, which is more than 5 % apart"),
        (Camera(noise=0.5), PIXEL, "hardly differs|does not look like"),
    ],
)
def test_a_photograph_that_cannot_be_right_is_refused(
    printed: Printed, camera: Camera, pixel: float | None, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        laserpath.fit_photograph(printed.simulated, photograph(printed, camera), pixel=pixel)


@slow
def test_something_else_is_refused(printed: Printed) -> None:
    stripes = np.tile(np.repeat([50.0, 200.0], 8), (160, 12))
    with pytest.raises(InputError, match="does not look like the print"):
        laserpath.fit_photograph(printed.simulated, stripes, pixel=PIXEL)
    photo, (sight, _) = photograph(printed, Camera()), Camera().sight(printed.scene)
    places = np.array([[0.0, 0.0], [2.5, 0.0], [0.0, 1.6]])
    seen = sight.pixels(places) * (1, -1) + (0, len(photo) - 1)
    marks = [Fiducial(tuple(pixel), tuple(xy)) for pixel, xy in zip(seen, places, strict=True)]
    with pytest.raises(InputError, match="mirrored"):
        laserpath.fit_photograph(printed.simulated, photo[::-1], marks)


def test_a_mark_alone_and_marks_on_a_line_are_refused() -> None:
    marks = [Fiducial((100.0 * k, 50.0), (float(k), 0.0)) for k in range(3)]
    with pytest.raises(InputError, match="two marks or more"):
        seen_by_marks(marks[:1])
    with pytest.raises(InputError, match="on a line"):
        seen_by_marks(marks)
    two = seen_by_marks(marks[:2])
    assert two.pixels(np.array([[0.5, 0.25]])).tolist() == [pytest.approx([50.0, 25.0])]
    assert two.pixel == pytest.approx(0.01)


@slow
def test_what_is_no_picture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a PNG, TIFF or JPEG"):
        read_photograph(b"GIF89a")
    Image.new("RGB", (20, 20), "grey").save(tmp_path / "even.jpg")
    with pytest.raises(InputError, match="everywhere"):
        read_photograph((tmp_path / "even.jpg").read_bytes())


@slow
def test_three_prints_come_near_the_plan_that_knew() -> None:
    """A spot 10 % too wide, and a dose that rises by 20 % from one side to the other."""
    settings = replace(SETTINGS, iterations=100, initial="auto")
    plan = laserpath.plan(drawing(), ASSUMED, settings)
    truth = replace(ASSUMED, spot=Spot(1.1 * FWHM, dose_map=tilted(plan.design, 0.1)))
    scene = in_truth(plan, truth)

    def error(one: Plan) -> float:
        return Exposure(one.shipped, scene).executed.figures.epe_mean

    knew, errors = error(laserpath.plan(drawing(), truth, settings)), [error(plan)]
    process = ASSUMED
    for seed in range(3):
        photo = Camera(turn=2.0 - seed).of(plan.shipped, truth, scene, seed)
        fit = laserpath.fit_photograph(simulated(plan, process), photo, pixel=PIXEL)
        process = replace(process, spot=fit.spot)
        plan = laserpath.plan(drawing(), process, settings)
        errors.append(error(plan))
    assert errors[0] > 2 * knew
    assert errors[3] < 1.2 * knew


@slow
def test_the_command_corrects_its_own_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("part.wkt").write_text(drawing().area.wkt)
    usual = ("plan", "part.wkt", "--iterations", "20", "--initial", "contour", "--spot-fwhm", "80um",
             "--unit", "mm", "--report", "brief", "--json")  # fmt: skip
    assert run(*usual) == 0
    first = json.loads(capsys.readouterr().out)
    program = laserpath.simulate("part.gcode", ASSUMED)
    part = replace(drawing(), name="part")
    truth = replace(ASSUMED, spot=Spot(1.1 * FWHM, dose_map=tilted(part, 0.1)))
    scene = Scene.around(part, truth.spot, truth.resin, 8)
    Image.fromarray(np.uint8(Camera().of(program.shipped, truth, scene))).save("photo.png")
    correct = (*usual, "--printed", "photo.png", "--printed-pixel", "12um")
    assert run(*correct) == 0
    second = json.loads(capsys.readouterr().out)
    assert first["fwhm_mm"] == FWHM
    assert second["fwhm_mm"] == pytest.approx(1.1 * FWHM, rel=0.05)
    assert any("times as wide" in note for note in second["notes"])
    text = Path("part.gcode").read_text()
    assert "dose_map" in text
    assert "photo.png" in text
    # Once more would correct it twice.
    assert run(*correct) == 2
    assert "makes up for photo.png already" in capsys.readouterr().err
    assert Path("part.gcode").read_text() == text


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--printed-pixel", "4um"), "--printed-pixel needs --printed"),
        (("--printed", "photo.png"), "design.gcode is missing"),
        (("--printed", "photo.png", "--colours", "2"), "--printed compares the edges of one program"),
        (("--printed", "photo.png", "--grey", "60um"), "--printed compares the edges of one program"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    more: tuple[str, ...], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("design.wkt").write_text("POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0))")
    assert run("plan", "design.wkt", *more) == 2
    assert sentence in capsys.readouterr().err
