"""Heights of the bed: what users have of them, programs that follow them, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

import gcode
import laserpath
from laserpath import profiles
from laserpath.base.errors import InputError
from laserpath.config import project, request
from laserpath.config.profiles import bed
from laserpath.machine import convert
from laserpath.machine.gate import verified
from laserpath.machine.heights import at_focus, bend, check_bed, said, unfollowed
from laserpath.machine.program import moves_from_zero
from laserpath.physics import optics
from laserpath.planning import forecast_matrix
from laserpath.simulation import simulate, source
from laserpath.types import Design, Heights, Machine, Process, Settings, Spot

MESH = """[bed_mesh]
speed: 120

#*# <---------------------- SAVE_CONFIG ---------------------->
#*# [bed_mesh default]
#*# version = 1
#*# points =
#*# \t  0.000000, 0.100000, 0.150000
#*# \t  0.050000, 0.120000, 0.180000
#*# x_count = 3
#*# y_count = 2
#*# algo = lagrange
#*# min_x = 10.0
#*# max_x = 110.0
#*# min_y = 20.0
#*# max_y = 60.0
"""
PLANE = "0,0,0:100,0,0.2:0,80,-0.1mm"
_PLACES = tuple(np.linspace(0, 20, 6).tolist())
BOWED = Heights(
    _PLACES, _PLACES, tuple(tuple(1e-3 * (x - 8) ** 2 + 5e-4 * x * y for x in _PLACES) for y in _PLACES)
)
FOLLOWING = Machine(z_travel=(-2.0, 40.0), focus=0.1, heights=BOWED, z_speed_max=20.0, z_acceleration=100.0)


def cross(machine: Machine) -> gcode.Moves:
    """Long strokes over the bed, with dark lines and rapids between."""
    xy = np.array([(1, 1), (19, 18), (19, 2), (3, 17), (3.0, 3.0), (3.00004, 3.0), (18, 3)], dtype=float)
    power = np.array([0.5, 0, 0.8, 0, 0.4, 0.4])
    rapid = np.array([False, True, False, False, False, False])
    return gcode.Moves.straight(
        xy, power, np.full(6, 20.0), rapid, dynamic=convert.power_follows(machine)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "given"),
    [
        ("bed.csv", "x_mm,y_mm,z_um\n10,20,0\n60,20,100\n110,20,150\n10,60,50\n60,60,120\n110,60,180\n",
         "bed.csv"),
        ("bed.csv", "10;20;0\n60;20;.1\n110;20;.15\n10;60;.05\n60;60;.12\n110;60;.18\n", "bed.csv"),
        ("printer.cfg", MESH, "printer.cfg"),
        ("printer.cfg", MESH.replace("10.0", "60.0").replace("110.0", "160.0").replace("160.00", "160.0"),
         "printer.cfg@50,0mm"),
    ],
    ids=["csv", "without names", "klipper", "with a work zero"],
)  # fmt: skip
def test_a_grid_is_read_from_what_users_have(tmp_path: Path, name: str, text: str, given: str) -> None:
    (tmp_path / name).write_text(text)
    found = bed.read(given, tmp_path)
    assert found.x == (10, 60, 110) and found.y == (20, 60)
    assert found.at([(10, 20), (60, 60), (85, 40)]) == pytest.approx([0, 0.12, 0.1375])
    assert bed.read(bed.text(found)) == found


def test_three_points_are_a_plane_and_many_a_bow() -> None:
    plane = bed.read(PLANE)
    xy = np.array([(0, 0), (100, 0), (0, 80), (150, 100)])
    assert plane.at(xy) == pytest.approx([0, 0.2, -0.1, 0.3 - 0.125])
    assert bed.read(bed.text(plane)) == plane
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0, 100, (2, 20))
    points = ":".join(
        f"{a:.3f},{b:.3f},{1e-5 * (a - 40) ** 2 + 1e-3 * b:.6f}" for a, b in zip(x, y, strict=True)
    )
    assert bed.read(points).at([(40, 50), (80, 20)]) == pytest.approx([0.05, 0.036], abs=1e-3)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("0,0,0:100,0,20:0,80,-0.1", "make a slope of 20 %, above 5 %: is one an outlier, or in another"),
        ("0,0,0:50,0,0.1:100,0,0.2", "the heights lie on a line"),
        ("0,0,0:50,0", "must be points x,y,z such as"),
        ("0,0,0:50,0,0.1", "there are 2 heights, but must be 3 to 2500"),
        ("0,0,0:50,0,0.1:0,50,0:0,50,0.1:10,10,0", "two heights are of one place"),
        (":".join(f"{x},{y},{0.4 * (x == y == 20)}" for x in range(0, 90, 20) for y in range(0, 90, 20)),
         "the height 0.4 mm at 20, 20 mm is 0.3.* mm from where the others have it"),
        ("no-such.csv", "no-such.csv"),
    ],
)  # fmt: skip
def test_what_is_no_bed_is_refused(given: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        bed.read(given)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[bed_mesh]\nspeed: 120\n", "has no saved points"),
        (MESH.replace("#*# max_y = 60.0\n", ""), "its .bed_mesh. cannot be read"),
        ("x,y\n1,2\n", "has no columns x, y and z"),
        ("x,y,z\n1,2,a\n", "row 1: 'a' is not a number"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "bed").write_text(text)
    with pytest.raises(InputError, match=words):
        bed.read("bed", tmp_path)


@pytest.mark.parametrize("name", sorted(gcode.DIALECTS))
def test_programs_follow_the_bed_in_every_dialect(name: str) -> None:
    machine = replace(FOLLOWING, dialect=name, s_max=0.0)
    text, program = verified(cross(machine), machine)
    found = program.moves
    dialect = convert.dialect_of(machine)
    assert not [one for one in gcode.check(text, dialect, convert.envelope(machine, dialect)) if one.error]
    assert found.on.any()
    share = np.linspace(0, 1, 33)[:, None]
    for k in np.flatnonzero(found.on):
        line = found.xyz[k] + share * (found.xyz[k + 1] - found.xyz[k])
        assert np.abs(line[:, 2] - 0.1 - BOWED.at(line[:, :2])).max() < bend(None) + 2e-3
    alone = (np.diff(found.z) != 0) & (np.diff(found.xy, axis=0) == 0).all(axis=1)
    assert not found.on[alone].any()
    exposure = [(one.power * one.length).sum() for one in (cross(machine), found)]
    assert exposure[1] == pytest.approx(exposure[0], rel=2e-3), "splits keep the energy"


def test_light_while_only_z_moves_is_refused() -> None:
    text = "G21 G90\nM4 S0\nG0 X1 Y1\nG1 X2 F600 S500\nG1 Z1\nM5\nM2\n"
    with pytest.raises(gcode.GcodeError, match="the laser is on while only Z moves"):
        gcode.verify(text, gcode.dialect("grbl"))


def test_a_program_along_the_bed_is_simulated_as_the_flat_one() -> None:
    machine = replace(
        FOLLOWING, dialect="generic", acceleration=(1e7, 1e7), z_acceleration=1e7, baud=None, segment_rate=1e6
    )  # at its speed at once: its dose is power ÷ speed
    process = Process(Spot(0.4), machine=machine)
    texts = [verified(cross(machine), machine, raised=raised)[0] for raised in (True, False)]
    flat, along = (simulate(text, process, name="strokes") for text in texts)
    assert "heights" not in " ".join(along.warnings)
    assert along.executed.dose == pytest.approx(flat.executed.dose, abs=2e-3 * flat.executed.dose.max())


@pytest.mark.slow
def test_a_plan_along_the_bed_is_that_of_a_flat_one() -> None:
    area = shapely.union(shapely.box(2, 2, 14, 2.5), shapely.box(2, 2, 2.5, 14), grid_size=1e-6)
    settings = Settings(iterations=10, initial="hatch", report="brief")
    machines = [replace(FOLLOWING, baud=None, heights=heights) for heights in (None, BOWED)]
    plans = [laserpath.plan(area, Process(Spot(0.2), machine=machine), settings) for machine in machines]
    flat, along = (one.report.executed.figures for one in plans)
    assert along.epe_mean == pytest.approx(flat.epe_mean, abs=1e-3)
    z = gcode.read(plans[1].program, gcode.dialect("grbl")).moves.z
    assert z.min() < 0.12 and z.max() > 0.15
    again = simulate(plans[1].program, plans[1].process, name="along")
    assert again.executed.figures.dose_max == pytest.approx(along.dose_max, rel=0.01)


def test_layers_along_the_bed_are_told_apart() -> None:
    one = at_focus(cross(FOLLOWING), FOLLOWING)
    up = replace(one, z=one.z + 0.5)
    z = one.z[-1]
    climb = gcode.Moves(
        np.vstack([one.xy[[-1, -1]], up.xy[:1]]), np.zeros(2), np.full(2, 5.0), np.zeros(2, np.int8),
        z=np.array([z, z + 0.5, up.z[0]]),
    )  # fmt: skip
    both = gcode.concat([one, climb, up])
    assert len(source.layer(one).heights) == 1
    found = source.layer(both)
    assert len(found.heights) == 2 and found.rows.sum() == one.on.sum()
    assert np.diff(found.heights) == pytest.approx(0.5)


def box(x0: float, y0: float, x1: float, y1: float) -> Design:
    return Design(shapely.MultiPolygon([shapely.box(x0, y0, x1, y1)]), "box")


@pytest.mark.slow
def test_the_time_of_layers_is_that_of_their_program_along_the_bed() -> None:
    layers = [(z, box(15, 2, 17, 2.2)) for z in (0.5, 1.0)]
    settings = Settings(origin="own", iterations=3, report="brief")
    done = laserpath.plan_layers(layers, Process(machine=replace(FOLLOWING, baud=None)), settings, name="two")
    machine = done.stack.process.machine
    along = gcode.read(done.program, gcode.dialect("grbl"), machine.s_max).moves
    assert np.ptp(along.z) > 0.53
    executed = gcode.motion.execute(moves_from_zero(along, machine), convert.controller(machine))
    assert done.write_time == pytest.approx(executed.write_time, rel=1e-6)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: check_bed(box(5, 5, 30, 9), Process(machine=FOLLOWING)), "the design is from x 5 to 30"),
        (lambda: at_focus(replace(cross(FOLLOWING), xy=cross(FOLLOWING).xy + 5), FOLLOWING),
         "exposes up to 4 mm"),
        (lambda: forecast_matrix(
            box(0, 0, 8, 1), Process(Spot(0.2), machine=FOLLOWING), Settings(), (1, 1.2), (0,)
        ), "the program exposes up to"),
        (lambda: at_focus(cross(FOLLOWING), replace(FOLLOWING, z_travel=(0.0, 0.3))), "would go to Z 0.1"),
        (lambda: replace(FOLLOWING, z_speed_max=0.5), "Z would need .* mm/s, above 0.5 mm/s of machine"),
        (lambda: replace(FOLLOWING, z_acceleration=None, acceleration=(5000.0, 5000.0)),
         "put z_acceleration_mm_per_s2 into the profile"),
        (lambda: Machine(focus=0.2), "machine focus is 0.2 mm, but the machine names no Z"),
        (lambda: Heights((0, 1), (0, 1), ((0, 0), (0, np.inf))), "heights must be finite"),
    ],
)  # fmt: skip
def test_what_cannot_be_followed_is_refused(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        make()


def test_without_a_z_the_report_says_how_much_the_spot_widens() -> None:
    still = replace(FOLLOWING, z_travel=None, focus=0.0)
    moves = cross(still)
    assert at_focus(moves, still) is moves
    spot = Spot(0.02, "gaussian", wavelength=405e-6)
    (told,) = unfollowed(box(2, 2, 18, 18), Process(spot, machine=still))
    worst = float(BOWED.at([(18, 18)])[0])
    wider = optics.fwhm(replace(spot, defocus=worst)) / optics.fwhm(spot)
    assert f"is {1000 * worst:.3g} µm out of focus, and the spot {wider:.3g} times as wide" in told
    assert not list(unfollowed(box(2, 2, 18, 18), Process(spot, machine=FOLLOWING)))
    assert "not known" in next(unfollowed(box(2, 2, 18, 18), Process(Spot(0.02), machine=still)))


def test_a_profile_and_a_project_hold_the_bed(tmp_path: Path) -> None:
    text = profiles.text("machine", "grbl-diode-405").replace("# z_travel_mm", "z_travel_mm")
    (tmp_path / "mine.toml").write_text(text + f'heights = "{PLANE}"\nz_speed_max_mm_per_s = 4\n')
    machine = profiles.machine(tmp_path / "mine.toml")
    assert machine.heights == bed.read(PLANE) and machine.z_speed_max == 4
    (tmp_path / "laserpath.toml").write_text(
        project.text(box(0, 0, 1, 1), Process(machine=machine), Settings())
    )
    again = request.process_of(project.load(tmp_path / "laserpath.toml").values).machine
    assert again.heights == machine.heights
    (tmp_path / "printer.cfg").write_text(MESH)
    (tmp_path / "laserpath.toml").write_text('heights = "printer.cfg@5,5mm"\n')
    moved = request.process_of(project.load(tmp_path / "laserpath.toml").values).machine.heights
    assert moved is not None and moved.box == (5, 15, 105, 55)


def test_a_program_says_that_it_follows_the_bed() -> None:
    """A tilt across its lines leaves each at one Z, as if they were layers."""
    plane = replace(FOLLOWING, heights=bed.read("0,0,0:20,0,0:0,20,0.4"))
    xy = np.array([(x, y) for y in range(1, 9) for x in ((1, 9) if y % 2 else (9, 1))], dtype=float)
    power = np.where(np.arange(15) % 2, 0.0, 0.5)
    lines = gcode.Moves.straight(xy, power, np.full(15, 20.0), power == 0, dynamic=True)
    text = verified(lines, plane, said(plane))[0]
    assert "Z follows the bed, whose heights are -0.4 to 0.8 mm" in text
    found = simulate(text, Process(Spot(0.2), machine=plane), name="lines")
    assert not [one for one in found.warnings if "heights" in one]
