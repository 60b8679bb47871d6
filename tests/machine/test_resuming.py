"""The rest of an interrupted program: together with what was done, it exposes what the whole does."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import shapely
from builders import SPOT
from sets import one_fast

import gcode
from gcode import Kind
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.machine import convert
from laserpath.machine.gate import verified
from laserpath.machine.program import MachineProgram, execute, moves_from_zero
from laserpath.machine.rest import one_after_another, rested
from laserpath.machine.resuming import Ended, Resumption, resume
from laserpath.physics.dose import DoseModel
from laserpath.types import Grid, LayerChange, Machine, Process, Resin, Toolpath

NAMES = ("grbl", "grblhal", "marlin", "klipper", "linuxcnc", "smoothieware", "generic")
TURN = np.linspace(0, 2 * np.pi, 25)
ROWS = [
    np.array([(0, 0.0), (3, 0), (3, 0.3), (0, 0.3), (0, 0.6), (3, 0.6)]),
    np.c_[np.cos(TURN), np.sin(TURN)],
]
SLOWER = (0.07, 0.13, 0.2, 0.22, 0.4, 0.45, 0.5, 0.55, 0.62, 0.75, 0.86, 0.9, 0.97)
GRID = Grid((0.0, 0.0), 0.03, (160, 220))


@cache
def whole(name: str) -> tuple[MachineProgram, gcode.Program, Process]:
    """Two strokes with a travel between them: a meander and a circle. The program, and as it is read."""
    machine = Machine(dialect=name)
    process = Process(SPOT, Resin(critical_dose=0.35), machine)
    meander, circle = ROWS[0] + (1.0, 1), ROWS[1] + (5.0, 3.2)
    xy = np.vstack([meander, circle])
    power = np.concatenate([[3.0, 3, 2, 2, 3], [0.0], np.full(24, 2.5)])
    speed = np.concatenate([np.full(5, 40.0), [min(machine.rapid_speed)], np.full(24, 25.0)])
    program = MachineProgram.written(Toolpath(xy, power, speed), process)
    read = gcode.read(program.text, gcode.dialect(name), machine.s_max, rapid_speed=min(machine.rapid_speed))
    return program, read, process


def at_place(read: gcode.Program, u: float) -> Floats:
    return read.moves.span(0, u).xy[-1]


def done(program: MachineProgram, begin: float, end: float) -> Toolpath:
    """What the machine executes of a program between two times, s before its end, at which all is dark."""
    path = program.executed
    time = np.concatenate([[0.0], np.cumsum(path.length / path.speed)])
    first, last = np.maximum(time[-1] - np.array([begin, end]), 0)
    at = [np.interp(when, time, xy) for xy in path.xy.T for when in (first, last)]
    k, n = int(np.searchsorted(time, first, side="right")), int(np.searchsorted(time, last))
    xy = np.vstack([at[0::2], path.xy[k:n], at[1::2]])
    return Toolpath(xy, path.power[k - 1 : n], path.speed[k - 1 : n])


def dose(path: Toolpath) -> Floats:
    return DoseModel(GRID, SPOT).dose(path)


def resumed(name: str, ended: Ended) -> Resumption:
    _, read, process = whole(name)
    return resume(read, process, ended, "part.gcode")


@pytest.mark.parametrize("share", [0.3, *(pytest.param(u, marks=pytest.mark.slow) for u in SLOWER)])
@pytest.mark.parametrize("name", NAMES)
def test_both_parts_expose_what_the_whole_does(name: str, share: float) -> None:
    """To 2 % of the largest dose, but for the piece that is exposed twice, which has its own dose twice."""
    program, read, _ = whole(name)
    u = share * len(read.moves)
    got = resumed(name, Ended(place=tuple(at_place(read, u))))
    assert got.cut == pytest.approx(u, abs=0.05)
    # Where a cut move would be lit in another way, more of it is exposed twice.
    assert got.twice <= 5.1 * SPOT.fwhm
    end = program.motion.write_time
    begin, cut = (end - time for time in got.times)
    both = dose(done(program, end, cut)) + dose(got.program.executed)
    due, twice = dose(program.executed), dose(done(program, begin, cut))
    x, y = np.meshgrid(GRID.x(), GRID.y())
    overlap = read.moves.span(got.begin, got.cut)
    away = shapely.distance(
        shapely.LineString(np.vstack([overlap.xy, overlap.xy[-1:]])), shapely.points(x, y)
    )
    assert np.abs(both - due - twice)[away > SPOT.fwhm].max() <= 0.02 * due.max()
    assert np.abs(both - due - twice).max() <= 0.04 * due.max()
    assert np.abs(both - due)[away > 2 * SPOT.fwhm].max() <= 0.02 * due.max()


def test_a_long_move_is_not_exposed_twice() -> None:
    """Its end may be lit a little differently, which is said."""
    _, _, process = whole("klipper")
    path = Toolpath([(1, 1), (21, 1), (21, 2)], [3.0, 3.0], [40.0, 40.0])
    machine = process.machine
    text = gcode.write(convert.to_moves(path, machine), convert.dialect_of(machine))
    read = gcode.read(text, convert.dialect_of(machine), rapid_speed=min(machine.rapid_speed))
    got = resume(read, process, Ended(place=(20.95, 1)))
    assert got.twice <= 5 * SPOT.fwhm
    assert ("dose differs" in got.sentences(SPOT.fwhm)[-1]) == (got.off > 0.03)


@pytest.mark.parametrize("name", NAMES)
def test_the_way_to_it_is_dark(name: str) -> None:
    """In the text: from the travel to the light, along the path of the whole."""
    got = resumed(name, Ended(place=tuple(at_place(whole(name)[1], 20.5))))
    machine = whole(name)[2].machine
    read = gcode.verify(
        got.program.text, gcode.dialect(name), machine.s_max, least=0.5 / machine.power_levels
    )
    first = int(np.argmax(read.moves.on))
    assert first > 1
    assert read.moves.xy[first] == pytest.approx(got.ends[0], abs=1e-3)
    line = shapely.LineString(whole(name)[1].moves.chords(1e-3).xy)
    assert shapely.distance(line, shapely.points(read.moves.xy[: first + 1])).max() < 2e-3


def test_a_place_a_line_and_a_time_agree() -> None:
    program, read, _ = whole("grbl")
    u = len(read.moves) - 10
    line = int(read.line[u - 1])
    by_line = resumed("grbl", Ended(line=line))
    assert by_line.cut == u
    by_place = resumed("grbl", Ended(place=tuple(at_place(read, u))))
    assert by_place.cut == pytest.approx(u, abs=1e-6)
    by_time = resumed("grbl", Ended(time=by_line.times[1]))
    assert by_time.cut == pytest.approx(u, abs=1e-6)
    assert by_line.program.text == by_place.program.text
    assert 0 < by_line.times[1] < program.motion.write_time
    assert 0.1 < by_line.left < 0.4


def test_what_is_exposed_twice_is_said() -> None:
    got = resumed("grbl", Ended(line=int(whole("grbl")[1].line[5])))
    (_, twice, zero) = got.sentences(SPOT.fwhm)
    assert "um of lines are exposed twice, from (" in twice
    assert "work zero" in zero
    assert 0.09 <= got.twice <= 0.13
    head = " ".join(got.program.text.split("\n; "))
    assert "laserpath resume: the rest of part.gcode" in head
    assert "exposed twice" in head


def test_in_a_travel_nothing_is_exposed_twice() -> None:
    _, read, _ = whole("grbl")
    travel = int(np.flatnonzero(read.moves.rapid)[-1])
    got = resumed("grbl", Ended(place=tuple(read.moves.xy[travel : travel + 2].mean(axis=0))))
    assert got.cut == pytest.approx(travel + 0.5, abs=0.01)
    assert got.twice == 0
    assert "nothing is exposed twice" in got.sentences(SPOT.fwhm)[1]
    assert got.program.path.on.sum() == read.moves.on[travel:].sum()


def test_it_begins_at_a_rest_where_there_is_one() -> None:
    """Where the head rested anyway, no lead is needed; the whole begins with a dark move of its own."""
    _, read, process = whole("grbl")
    got = resumed("grbl", Ended(line=int(read.line[2])))
    assert got.start == 1
    moves = gcode.Moves.straight([(1, 1), (2, 1), (3, 1)], [0.3, 0.3], [20, 20], [False, False], dynamic=True)
    rest = gcode.Moves([(3, 1), (3, 1)], [0], [20], [gcode.Kind.DWELL], dwell=[0.1], dynamic=[True])
    after = gcode.Moves.straight([(3, 1), (3, 2)], [0.3], [20], [False], dynamic=True)
    text = gcode.write(moves + rest + after, gcode.dialect("grbl"))
    read = gcode.read(text, gcode.dialect("grbl"))
    assert resume(read, process, Ended(place=(3, 1.5))).start == 3


def test_arcs_and_heights_of_other_tools_stay() -> None:
    text = "G21\nG90\nM4 S0\nG0 X10 Y10 Z1\nG2 X20 Y10 I5 J0 F1200 S300\nG1 X30 S200\nM5\nM2\n"
    read = gcode.read(text, gcode.dialect("grbl"))
    process = whole("grbl")[2]
    got = resume(read, process, Ended(place=(15, 15)))
    assert got.cut == pytest.approx(0.5, abs=1e-3)
    again = gcode.read(got.program.text, gcode.dialect("grbl")).moves
    lit = again.chords(1e-3)
    middle = np.hypot(*(lit.xy[:-1][lit.on][:50] - (15, 10)).T)
    assert middle == pytest.approx(5, abs=2e-3)
    assert (again.z == 1).all()
    assert again.length[again.on].sum() == pytest.approx(np.pi * 2.5 + 10 + got.twice, abs=0.01)


@pytest.mark.parametrize("passes", [2, 3])
def test_a_place_on_several_passes_is_asked_for(passes: int) -> None:
    _, _, process = whole("grbl")
    path = Toolpath([(1, 1), (4, 1), (4, 2)], [3.0, 3.0], [40.0, 40.0])
    program = MachineProgram.written(path, process, passes)
    read = gcode.read(program.text, convert.dialect_of(process.machine), rapid_speed=100)
    with pytest.raises(InputError, match=rf"passes \(2\.000, 1\.000\) mm {passes} times, in line \d+ \("):
        resume(read, process, Ended(place=(2, 1)))


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        (Ended(place=(50, 50)), "nowhere within 0.05 mm of (50.000, 50.000) mm, the nearest is"),
        (Ended(line=-1), "line -1 is not among the"),
        (Ended(line=10_000), "line 10000 is not among the"),
        (Ended(time=-1), "-1 s is not within the program's"),
        (Ended(time=1e4), "s is not within the program's"),
    ],
)
def test_where_it_cannot_have_ended(ended: Ended, words: str) -> None:
    with pytest.raises(InputError) as error:
        resumed("grbl", ended)
    assert words in str(error.value)


def test_a_program_that_is_done_has_no_rest() -> None:
    _, read, _ = whole("grbl")
    with pytest.raises(InputError, match="nothing is left to expose"):
        resumed("grbl", Ended(line=int(read.lines)))
    with pytest.raises(InputError, match="give one of them"):
        Ended()
    with pytest.raises(InputError, match="must be finite"):
        Ended(time=float("nan"))


def test_a_head_that_lags_gets_a_longer_lead() -> None:
    """By five time constants at the fastest speed before. The line is long enough for both."""
    _, _, process = whole("linuxcnc")
    path = Toolpath([(1, 1), (60, 1), (60, 2)], [3.0, 3.0], [40.0, 40.0])
    slow = replace(process, machine=replace(process.machine, lag=2e-3))
    read = gcode.read(MachineProgram.written(path, process).text, convert.dialect_of(process.machine))
    place = Ended(place=(50, 1))
    quick, lagging = (resume(read, one, place) for one in (process, slow))
    leads = [read.moves.span(one.start, one.begin).length.sum() for one in (quick, lagging)]
    assert np.diff(leads) == pytest.approx(5 * 2e-3 * min(slow.machine.rapid_speed), abs=0.01)


# Programs in layers

HEIGHTS = (0.1, 0.2, 0.3)
CHANGE = LayerChange("below", 2.0, 4.0, 0.5, (0.0, 4.0), (6.0, 4.0), 20.0, 1.5)


@cache
def tower(name: str, change: LayerChange = CHANGE) -> tuple[str, gcode.Program, Process]:
    """The two strokes at three heights, and what the machine does before each: text, as it is read."""
    process = whole(name)[2]
    machine = replace(process.machine, z_travel=(0.0, 40.0), layer_change=change)
    path = rested(convert.to_moves(whole(name)[0].path, machine), machine)
    parts = [(f"layer at z {z} mm", path, z) for z in HEIGHTS]
    text, read = verified(one_after_another(parts, machine, change), machine, ["a tower"])
    return text, read, replace(process, machine=machine)


def read_again(text: str, process: Process) -> gcode.Program:
    machine = process.machine
    return gcode.read(
        text, gcode.dialect(machine.dialect), machine.s_max, rapid_speed=min(machine.rapid_speed)
    )


def run_from_zero(read: gcode.Program, process: Process) -> gcode.motion.Executed:
    joined = moves_from_zero(read.moves, process.machine)
    return execute(joined, np.append(0, read.characters), process)


def place_in(read: gcode.Program, z: float, share: float) -> tuple[tuple[float, float], int]:
    """A place on the last lit move before a share of a layer's light, and the row of that move."""
    rows = np.flatnonzero(read.moves.on & (np.abs(read.moves.z[1:] - z) < 1e-6))
    row = int(rows[int(share * len(rows))])
    x, y = read.moves.span(0, row + 0.5).xy[-1]
    return (float(x), float(y)), row


def light_at(run: gcode.motion.Executed, z: float, process: Process, until: float = np.inf) -> Floats:
    """The dose at a height, of what is executed until a time, s."""
    moves = run.moves()
    time = np.append(0.0, np.cumsum(moves.duration))
    moves = moves.span(0, float(np.interp(min(until, time[-1]), time, np.arange(len(time)))))
    flat = np.abs(moves.z - z) < 1e-6
    lit = moves.on & flat[1:] & flat[:-1]
    kept = replace(moves, power=np.where(lit, moves.power, 0.0), z=np.zeros(len(moves.z)))
    return dose(convert.from_moves(kept, process.machine))


@pytest.mark.parametrize("name", one_fast(NAMES, "grbl", "marlin", "klipper"))
def test_a_part_goes_on_in_its_layer_and_with_those_above(name: str) -> None:
    """Both parts together expose each layer as the whole does, and below that is nothing."""
    text, read, process = tower(name)
    place, row = place_in(read, 0.2, 0.12)
    got = resume(read, process, Ended(place, z=0.2), "tower.gcode")
    assert got.cut == pytest.approx(row + 0.5, abs=0.05)
    run, rest = (run_from_zero(read_again(one, process), process) for one in (text, got.text))
    most = light_at(run, 0.1, process).max()
    assert not light_at(rest, 0.1, process).any(), "that layer is done"
    assert np.abs(light_at(rest, 0.3, process) - light_at(run, 0.3, process)).max() <= 0.02 * most
    begin, cut = got.times
    done, twice = light_at(run, 0.2, process, cut), light_at(run, 0.2, process, cut)
    twice = twice - light_at(run, 0.2, process, begin)
    both = done + light_at(rest, 0.2, process)
    assert np.abs(both - light_at(run, 0.2, process) - twice).max() <= 0.04 * most
    found = gcode.check(got.text, gcode.dialect(name), convert.envelope(process.machine, gcode.dialect(name)))
    assert [one for one in found if one.severity == "error"] == []


@pytest.mark.parametrize("name", NAMES)
def test_it_comes_to_its_layer_as_the_program_did(name: str) -> None:
    """Dark, from above it: what has been cured of it must not be pressed down to the layer before."""
    _, read, process = tower(name)
    place, _ = place_in(read, 0.2, 0.12)
    got = resume(read, process, Ended(place, z=0.2))
    moves = read_again(got.text, process).moves
    first = int(np.argmax(moves.on))
    assert moves.z[:2] == pytest.approx((0, 2.2)), "up from wherever it is, which is read as 0"
    assert moves.speed[0] == 4, "as slowly as each lift, and before the head goes anywhere"
    assert np.flatnonzero(np.diff(moves.z[1 : first + 1])).size == 1, "down again, and no farther"
    assert moves.z[first] == pytest.approx(0.2)
    assert not moves.on[np.diff(moves.z) != 0].any()
    waits = moves.dwell[:first]
    assert [float(one) for one in waits[waits >= 0.1]] == [0.5, 1.5]
    swept = np.flatnonzero((moves.kind[:first] == Kind.LINE) & (moves.length[:first] > 5.9))
    assert moves.xy[swept + 1] == pytest.approx(np.array([(6.0, 4.0)]))
    assert "layer 2 of 3, after what the program does before that layer, dark: Z goes to 2.2" in " ".join(
        got.sentences(SPOT.fwhm)
    )


def test_a_rest_can_be_interrupted_too() -> None:
    _, read, process = tower("marlin")
    once = resume(read, process, Ended(place_in(read, 0.2, 0.12)[0], z=0.2), head=("a tower",))
    again = read_again(once.text, process)
    place, _ = place_in(again, 0.2, 0.6)
    twice = resume(again, process, Ended(place, z=0.2))
    straight = resume(read, process, Ended(place, z=0.2))
    two, one = (read_again(rest.text, process).moves for rest in (twice, straight))
    assert two.xyz[1:][two.on] == pytest.approx(one.xyz[1:][one.on], abs=1e-3)


@pytest.mark.parametrize("change", [CHANGE, LayerChange()])
def test_between_two_layers_nothing_is_exposed_twice(change: LayerChange) -> None:
    """A layer that has had no light is exposed as it would have been."""
    _, read, process = tower("grbl", change)
    climb = int(np.flatnonzero(np.diff(read.moves.z) != 0)[-1])
    got = resume(read, process, Ended(line=int(read.line[climb])))
    moves = read_again(got.text, process).moves
    assert (got.twice, got.layer.number if got.layer else 0) == (0, 3)
    due = read.moves.span(climb, len(read.moves))
    assert moves.xy[1:][moves.on] == pytest.approx(due.xy[1:][due.on])
    assert (moves.power * moves.length).sum() == pytest.approx((due.power * due.length).sum())


def test_a_place_in_layers_needs_its_height() -> None:
    _, read, process = tower("grbl")
    place, row = place_in(read, 0.2, 0.12)
    with pytest.raises(InputError, match=r"at 3 heights, Z 0\.1, 0\.2, 0\.3 mm: say Z too, as in"):
        resume(read, process, Ended(place))
    with pytest.raises(InputError, match=r"nowhere within .* mm and Z 0\.25 mm, the nearest is"):
        resume(read, process, Ended(place, z=0.25))
    by_line = resume(read, process, Ended(line=int(read.line[row])))
    by_time = resume(read, process, Ended(time=by_line.times[1]))
    assert by_time.cut == pytest.approx(by_line.cut, abs=1e-6)
    with pytest.raises(InputError, match=r"z 0\.2 mm is of a place"):
        Ended(line=3, z=0.2)
