"""Our moves against what each reader saw of them, and which reader reads which dialect.

rs274 and Klipper's own parser tell every motion (`canon.Motion`), the others sums (`seen.Seen`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

import gcode
import readers
from readers import canon, klipper, third_party
from readers.programs import FAST
from readers.seen import Seen

SUMMED: dict[str, Callable[[str], Seen]] = {
    "gcodeparser": third_party.gcodeparser,
    "printrun": third_party.printrun,
    "gcode-interpreter": third_party.gcode_interpreter,
    "gcode-toolpath": third_party.gcode_toolpath,
}
"""Readers of every dialect that tell sums."""

READ_BY_RS274 = [name for name in ("linuxcnc", "generic", "grbl", "grblhal") if name in gcode.DIALECTS]
"""The dialects whose words LinuxCNC knows: all but G64 and M67 are the same."""


def ours(text: str, name: str, s_max: float | None = None) -> gcode.Moves:
    dialect = gcode.dialect(name)
    return gcode.parse(text, dialect, s_max or dialect.power_max, start=(0.0, 0.0), rapid_speed=FAST)


def assert_equal(
    found: tuple[canon.Motion, ...],
    moves: gcode.Moves,
    *,
    s_max: float = 1.0,
    place: float = canon.PRINTED,
    feed: float = canon.PRINTED,
) -> None:
    """Each motion is the move, within `place` mm and `feed` mm/s.

    s_max: the number of full power, of S or, where the program has one, of the output of M67. A motion that
    goes nowhere in rs274's digits is none, and neither is a stop for no time. A rapid that is lit is a line
    for us.
    """
    found = tuple(m for m in found if m.centre or m.seconds or printed([m.start]) != printed([m.end]))
    places = printed(np.column_stack([moves.xy, moves.z]))
    goes = np.array([a != b for a, b in pairwise(places)], dtype=bool) | moves.arc
    rows = np.flatnonzero((goes & ~moves.still) | (moves.dwell > 0))
    lit = [m.kind == canon.RAPID and bool(m.analog) for m in found]
    kinds = [canon.LINE if is_lit else m.kind for m, is_lit in zip(found, lit, strict=True)]
    assert kinds == moves.kind[rows].tolist()
    assert_close([m.end[:2] for m in found], moves.xy[rows + 1], place)
    assert_close([m.end[2] for m in found], moves.z[rows + 1], place)
    assert_close([m.seconds for m in found], moves.dwell[rows], canon.PRINTED)
    arcs = [k for k, m in enumerate(found) if m.centre]
    assert_close([found[k].centre or () for k in arcs], moves.centre[rows[arcs]], place)
    feeds = [k for k, m in enumerate(found) if m.kind not in (canon.RAPID, canon.DWELL)]
    assert_close([found[k].speed for k in feeds], moves.speed[rows[feeds]], feed)
    power = np.array([m.spindle if m.analog is None else m.analog for m in found]) / s_max
    compared = np.array([m.analog is not None for m in found], dtype=bool) | in_feed(found)
    assert_close(power[compared], moves.power[rows[compared]], canon.PRINTED / s_max + 1e-6)


def printed(places: ArrayLike) -> list[tuple[float, ...]]:
    """Places (N, 3) in mm with the digits of rs274."""
    return [tuple(float(f"{value:.4f}") for value in place) for place in np.asarray(places)]


def in_feed(found: Sequence[canon.Motion]) -> NDArray[np.bool_]:
    """Whether each runs, or waits, in G1, G2 or G3.

    Where S is the power, a controller in laser mode is dark in G0, whatever S is. LinuxCNC has no such mode.
    """
    feed, feeds = False, []
    for motion in found:
        feed = feed if motion.kind == canon.DWELL else motion.kind != canon.RAPID
        feeds.append(feed)
    return np.array(feeds, dtype=bool)


def assert_close(found: ArrayLike, expected: NDArray[np.float64], tolerance: float) -> None:
    """Also where there is nothing."""
    array = np.array(found, dtype=np.float64).reshape(expected.shape)
    np.testing.assert_allclose(array, expected, rtol=0, atol=tolerance)


def rounding(dialect: gcode.Dialect) -> dict[str, float]:
    """What the digits of a dialect may change: places to the nearest one, feeds down. And those of rs274."""
    place = 0.5001 * 10.0**-dialect.xy_decimals
    return {"place": place + canon.PRINTED, "feed": 10.0**-dialect.feed_decimals / 60 + canon.PRINTED}


def sums(moves: gcode.Moves, full: float) -> Seen:
    """What is in the moves; lengths are in the plane, as these readers add them up. full: of the power."""
    moves = replace(moves, z=None)
    box = (*moves.xy[1:].min(axis=0).tolist(), *moves.xy[1:].max(axis=0).tolist())
    feeds = ~moves.rapid & ~moves.still
    power = moves.power[feeds] * full
    return Seen(box, moves.length[moves.rapid].sum(), moves.length[feeds].sum(), (power.min(), power.max()))


def assert_same(found: Seen, expected: Seen) -> None:
    """Within 10 nm, and the seven digits in which printrun keeps places."""
    assert found.box == pytest.approx(expected.box, rel=2e-7, abs=1e-5)
    assert found.rapid == pytest.approx(expected.rapid, rel=1e-6)
    assert found.feed == pytest.approx(expected.feed, rel=1e-6)
    if found.power is not None:
        assert found.power == pytest.approx(expected.power, rel=1e-9)


def compare(reader: str, text: str, name: str) -> None:
    """Assert that a reader sees in a program what we read in it. name: of its dialect, at its full power."""
    dialect = gcode.dialect(name)
    moves, s_max = ours(text, name), dialect.power_max
    if reader == "rs274":
        # grblHAL's lines may be longer than LinuxCNC's: the end of such a comment is left out.
        most = gcode.dialect("linuxcnc").line_room
        told = re.sub(rf"^(;.{{{most - 1}}}).+$", r"\1", text, flags=re.MULTILINE)
        assert_equal(canon.run(rs274(), told if name == "grblhal" else text).motions, moves, s_max=s_max)
        return
    if reader == "klipper":
        assert_equal(klipper.run(text), moves, s_max=s_max)
        return
    found = SUMMED[reader](text)
    if "SET_PIN" in dialect.power:  # none of them knows it
        found = replace(found, power=None)
    assert_same(found, sums(moves, s_max))


def rs274() -> Path:
    """LinuxCNC's interpreter, which must be here."""
    found = readers.rs274()
    assert found
    return found


def here() -> dict[str, list[str]]:
    """The dialects that each reader reads, of those readers that are here."""
    found = {
        "rs274": READ_BY_RS274 if readers.rs274() else [],
        "klipper": ["klipper"] if readers.has_python("klippy") else [],
    }
    for name in SUMMED:
        there = readers.has_python(name) or readers.node_modules(name)
        found[name] = sorted(gcode.DIALECTS) if there else []
    return found
