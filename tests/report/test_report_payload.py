"""What the viewer is given: numbers that can be read back; the laser is where the controller has it."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import shapely
from exposures import Job, make_job
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import map_coordinates

import gcode
from laserpath.machine.program import MachineProgram
from laserpath.report import ShownProgram
from laserpath.report import payload as payload_module
from laserpath.report.data import Track, thinned, track, worst_places
from laserpath.report.payload import packed, packed_curve, packed_raster, payload
from laserpath.types import Design, Machine, Process


def unpacked(text: str) -> np.ndarray:
    """The integers of a list, read byte by byte."""
    values, number, place = [], 0, 0
    for byte in zlib.decompress(base64.b64decode(text)):
        number, place = number + ((byte & 127) << place), place + 7
        if byte < 128:
            values.append(-(number + 1) // 2 if number % 2 else number // 2)
            number = place = 0
    return np.array(values, dtype=np.int64)


def exposed_of(job: Job) -> ShownProgram:
    return job.page_data.exposed(job.run)


@pytest.fixture(scope="module")
def exposed(job: Job) -> ShownProgram:
    return exposed_of(job)


@pytest.fixture(scope="module")
def numbers(exposed: ShownProgram) -> dict[str, Any]:
    return dict(json.loads(payload(exposed).text))


# Packing


@given(st.lists(st.integers(-(2**60), 2**60)))
def test_integers_come_back(values: list[int]) -> None:
    assert unpacked(packed(values)).tolist() == values
    assert np.cumsum(unpacked(packed_curve(np.array(values[:50]) // 64))).tolist() == [
        v // 64 for v in values[:50]
    ]


def test_a_raster_comes_back() -> None:
    values = np.random.default_rng(1).integers(-300, 70_000, (13, 17))
    rows = np.cumsum(unpacked(packed_raster(values)).reshape(13, 17), axis=1)
    assert (np.cumsum(rows, axis=0) == values).all()


# The dose and the outlines


def test_the_dose_between_the_pixels_is_the_dose_within_half_a_step(
    exposed: ShownProgram, numbers: dict[str, Any]
) -> None:
    part = numbers["dose"]
    rows = np.cumsum(unpacked(part["values"]).reshape(part["rows"], part["columns"]), axis=1)
    wave = np.cumsum(rows, axis=0) * part["step"]
    at = np.random.default_rng(2).uniform(5, 20, (2, 500))
    relative = exposed.dose / exposed.process.resin.critical_dose
    shown = map_coordinates(wave, at, order=3, prefilter=False, mode="mirror")
    assert shown == pytest.approx(map_coordinates(relative, at, order=3, mode="mirror"), abs=part["step"] / 2)


def points(part: dict[str, str], numbers: dict[str, Any]) -> np.ndarray:
    whole = np.stack([np.cumsum(unpacked(part[axis])) for axis in "xy"], axis=1)
    return whole * numbers["quantum"] + numbers["origin"]


def test_outline_and_edges_are_within_a_quantum(exposed: ShownProgram, numbers: dict[str, Any]) -> None:
    assert exposed.design
    assert exposed.edges
    rings = [r for p in exposed.design.area.geoms for r in (p.exterior, *p.interiors)]
    assert unpacked(numbers["design"]["counts"]).tolist() == [len(r.coords) - 1 for r in rings]
    drawn = np.concatenate([shapely.get_coordinates(r)[:-1] for r in rings])
    assert np.abs(points(numbers["design"], numbers) - drawn).max() <= 0.51 * numbers["quantum"]
    edges = numbers["edges"]
    assert np.abs(points(edges, numbers) - exposed.edges.xy).max() <= 0.51 * numbers["quantum"]
    error = np.cumsum(unpacked(edges["error"])) * numbers["quantum"]
    assert np.abs(error - exposed.edges.epe).max() <= 0.51 * numbers["quantum"]
    assert (unpacked(edges["missing"]).astype(bool) == exposed.edges.missing).all()


def test_without_a_design_there_is_nothing_to_compare(exposed: ShownProgram) -> None:
    alone = replace(exposed, scene=None, edges=None)
    part = json.loads(payload(alone).text)
    assert part["design"] is part["edges"] is None
    on = exposed.toolpath.on
    assert part["box"][0] == pytest.approx(exposed.toolpath.xy[1:][on][:, 0].min(), abs=0.2)


def test_names_cannot_end_the_script(exposed: ShownProgram) -> None:
    assert "<" not in payload(exposed).text


# The laser


def test_the_laser_is_where_the_controller_has_it(exposed: ShownProgram, numbers: dict[str, Any]) -> None:
    part = numbers["track"]
    xy, t = points(part, numbers), np.cumsum(unpacked(part["t"])) * part["tick"]
    assert t[-1] == pytest.approx(exposed.run.write_time, abs=part["tick"])
    assert part["total"] == pytest.approx(exposed.run.write_time)
    assert (np.diff(t) >= 0).all()
    at = exposed.run.at(t)[:, :2]
    fastest = np.hypot(*exposed.process.machine.rapid_speed)
    assert np.abs(xy - at).max() <= numbers["quantum"] + fastest * part["tick"]
    energy = np.cumsum(unpacked(part["power"])) * part["level"] @ np.diff(t)
    assert energy == pytest.approx(exposed.run.exposure * exposed.process.machine.power_max, rel=2e-3)


def test_lagging_mirrors_are_shown_where_they_shine() -> None:
    process = Process(machine=Machine(lag=0.002))
    job = make_job(Design(shapely.MultiPolygon([shapely.box(0, 0, 1, 1)]), "square"), process)
    shipped = MachineProgram.of(job.toolpath, process)
    run, shines = shipped.run, shipped.executed
    shown = track(run, process.machine)
    assert shown.xy[shown.power.argmax()] == pytest.approx(shines.xy[shines.power.argmax()])
    assert shown.t[-1] > run.write_time


def wavy(pieces: int) -> Track:
    """A circle in many pieces, of which some are dark."""
    turn = np.linspace(0, 20, pieces + 1)
    power = np.where(np.arange(pieces) % 500 < 20, 0.0, 3.0 + np.arange(pieces) // 300 % 2)
    return Track(turn / 7, np.stack([np.cos(turn), np.sin(turn)], axis=1), power)


def test_a_thinned_track_keeps_times_places_light_and_darkness() -> None:
    whole = wavy(50_000)
    thin = thinned(whole, 3000, 0.1, 10.0)
    assert len(thin) <= 3000
    assert (thin.t[0], thin.t[-1]) == (whole.t[0], whole.t[-1])
    kept = np.searchsorted(whole.t, thin.t)
    assert (whole.t[kept] == thin.t).all()
    assert (whole.xy[kept] == thin.xy).all()
    between = np.stack([np.interp(whole.t, thin.t, axis) for axis in thin.xy.T], axis=1)
    assert np.hypot(*(between - whole.xy).T).max() <= thin.off < 0.1
    assert thin.power @ np.diff(thin.t) == pytest.approx(whole.power @ np.diff(whole.t))
    lit = np.diff(thin.t)[thin.on].sum()
    assert lit == pytest.approx(np.diff(whole.t)[whole.on].sum())


def test_a_short_track_stays_as_it_is() -> None:
    whole = wavy(200)
    assert thinned(whole, 200, 0.1, 10.0) is whole


def test_a_program_that_does_nothing_has_a_clock_that_stands() -> None:
    still = gcode.Moves.straight(np.zeros((1, 2)), [], [], [])
    run = gcode.motion.execute(still, gcode.Limits())
    assert track(run, Machine()).t.tolist() == [0.0]


# Sizes


def test_large_data_are_thinned_and_the_notes_say_so(
    exposed: ShownProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert payload(exposed).notes == ()
    for name, most in (("PIXELS", 20_000), ("PIECES", 400), ("SAMPLES", 100), ("VERTICES", 60)):
        monkeypatch.setattr(payload_module, name, most)
    small = payload(exposed)
    assert len(small.notes) == 3
    part = json.loads(small.text)
    assert part["dose"]["rows"] * part["dose"]["columns"] <= 20_000
    assert exposed.edges
    errors = np.cumsum(unpacked(part["edges"]["error"])) * part["quantum"]
    assert len(errors) <= 100
    assert np.abs(errors).max() == pytest.approx(np.abs(exposed.edges.epe).max(), abs=part["quantum"])
    assert unpacked(part["design"]["counts"]).sum() <= 60


def test_places_go_along(exposed: ShownProgram) -> None:
    assert exposed.design
    assert exposed.edges
    places = worst_places(exposed.edges, exposed.design, exposed.fwhm)
    part = json.loads(payload(exposed, places).text)["places"]
    assert [tuple(place[:2]) for place in part] == [place.xy for place in places]
