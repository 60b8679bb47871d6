"""How far a plan is: shares that do not go back, a time left that falls, plain lines without a terminal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sets import examples

from laserpath import Progress
from laserpath.cli import main
from laserpath.cli import progress as shown
from laserpath.cli.progress import Lines, Meter, line
from laserpath.cli.show import rough
from laserpath.planning.forecasts import Forecast

BAR = "POLYGON((0 0,2 0,2 1,0 1,0 0))"
PLAN = ["plan", "bar.wkt", "--iterations", "10", "--initial", "contour"]
EXPECTED = Forecast(trying=30.0, solving=100.0, finishing=20.0, memory=1e9, write_seconds=60.0)


class Clock:
    """s, as it is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def reports_of(
    tries: int = 3, shape: int = 200, refine: int = 300, converged: float = 1.0, attempts: int = 1
) -> list[Progress]:
    """What a planner tells, its last stage ended after a share of its iterations."""
    reports = [Progress("try", k, 40, 1.0) for _ in range(tries) for k in range(1, 41)]
    for _ in range(attempts):
        reports += [Progress("shape", k, shape, 1.0) for k in range(1, shape + 1)]
        reports += [Progress("refine", k, refine, 1.0) for k in range(1, round(converged * refine) + 1)]
    return [*reports, Progress("measure", 1, 1, 1.0)]


def fed(
    reports: list[Progress], seconds: Callable[[Progress], float], attempts: int = 1
) -> tuple[list[float], list[float]]:
    """Shares and times left, each event after `seconds`."""
    clock = Clock()
    meter = Meter(500, clock)
    meter.expect(EXPECTED, attempts=attempts)
    shares, left = [], []
    for event in reports:
        clock.now += seconds(event)
        meter(event)
        shares.append(meter.share)
        left += [] if meter.left is None else [meter.left]
    return shares, left


@examples(40)
@given(
    tries=st.integers(0, 5),
    converged=st.floats(0.01, 1),
    attempts=st.integers(1, 4),
    pace=st.floats(0.1, 10),
    data=st.data(),
)
def test_the_share_never_goes_back(
    tries: int, converged: float, attempts: int, pace: float, data: st.DataObject
) -> None:
    reports = reports_of(tries, converged=converged, attempts=attempts)
    uneven = data.draw(st.lists(st.floats(0, 3), min_size=3, max_size=3))
    shares, left = fed(reports, lambda e: pace * uneven[e.iteration % 3] * 0.2, attempts)
    assert all(b >= a for a, b in pairwise(shares))
    assert shares[0] > 0 and shares[-1] == pytest.approx(130 / 150)
    assert all(value >= 0 for value in left)


@pytest.mark.parametrize("pace", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(
    "reports", [reports_of(), reports_of(converged=0.3), reports_of(tries=2)], ids=["all", "early", "two"]
)
def test_at_a_steady_pace_the_time_left_falls_and_comes_true(reports: list[Progress], pace: float) -> None:
    costs = {"try": 30 / 120, "shape": 100 / 500, "refine": 100 / 500, "measure": 0.0}
    _, left = fed(reports, lambda e: pace * costs[e.stage])
    assert all(b <= a + 1e-9 for a, b in pairwise(left))
    assert left[-1] == pytest.approx(pace * EXPECTED.finishing, rel=0.3)
    # A third of the way in, what is left of a plan that takes all its iterations is known to a factor of 2.
    if reports == reports_of():
        spent = sum(pace * costs[e.stage] for e in reports[200:])
        assert 0.5 < left[200 + len(left) - len(reports)] / (spent + pace * EXPECTED.finishing) < 2


def test_between_reports_the_time_left_goes_on() -> None:
    clock = Clock()
    meter = Meter(500, clock)
    meter.expect(EXPECTED)
    assert meter.left is None
    meter.finishing()
    before = meter.left or 0.0
    clock.now = 5.0
    assert meter.left == pytest.approx(before - 5)
    clock.now = 1000.0
    assert meter.left == 0


def test_fitting_strokes_moves_the_share_and_a_new_forecast_does_not_move_it_back() -> None:
    clock = Clock()
    meter, fitting = Meter(500, clock), replace(EXPECTED, fitting=20.0)
    meter.expect(fitting)
    shares = []
    for k in range(1, 81):
        clock.now += 0.25
        meter(Progress("fit", k, 80, 1.0))
        shares.append(meter.share)
    assert meter.name == "fitting strokes"
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(20 / 150)
    assert meter.left == pytest.approx(130, rel=0.1)
    meter.expect(replace(fitting, solving=200.0))
    for k in range(1, 161):
        clock.now += 0.0625
        meter(Progress("try", k, 160, 1.0))
        shares.append(meter.share)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(max(30 / 250, 20 / 150))


def test_sensitivity_counts_on_after_measuring() -> None:
    sensitivity = [Progress("sensitivity", k, 15, 0.02) for k in range(16)]
    shares, _ = fed([*reports_of(), *sensitivity], lambda event: 0.2)
    assert all(b >= a for a, b in pairwise(shares))
    assert shares[-1] == pytest.approx((130 + 20 * 15 / 16) / 150)
    meter = Meter(500)
    meter(sensitivity[3])
    assert meter.name == "sensitivity, 3 of 15"
    assert EXPECTED.with_sensitivity.plan_seconds > 1.5 * EXPECTED.plan_seconds


def test_stopped_early_only_the_ending_is_left() -> None:
    clock = Clock()
    meter = Meter(500, clock)
    meter.expect(EXPECTED)
    for event in reports_of()[:150]:
        clock.now += 0.22
        meter(event)
    ending = meter.ending
    assert ending == pytest.approx(EXPECTED.finishing, rel=0.5)
    meter.finishing()
    assert meter.name == "measuring and writing"
    assert meter.left == pytest.approx(ending, rel=0.01)


def test_plain_lines_come_after_30_s_or_10_percent(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    meter = Meter(500, clock)
    meter.on_change = Lines(meter, clock)
    meter.expect(EXPECTED)
    for event in reports_of():
        clock.now += 0.25
        meter(event)
    printed = capsys.readouterr().err.splitlines()
    shares = [int(re.match(r"laserpath: (\d+) %, [a-z ]+; about .+ left$", one)[1]) for one in printed]  # type: ignore[index]
    assert shares == sorted(shares)
    assert 7 <= len(shares) <= 10
    assert "measuring and writing" in line(meter)


def test_a_slow_plan_says_a_line_every_30_s(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    meter = Meter(100_000, clock)
    meter.on_change = Lines(meter, clock)
    meter.expect(EXPECTED)
    for k in range(1, 121):
        clock.now += 1.0
        meter(Progress("shape", k, 100_000, 1.0))
    # One for the jump over the tries, which were left out.
    assert 4 <= len(capsys.readouterr().err.splitlines()) <= 5


def test_a_long_reading_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shown, "_SILENT", 0.01)
    for hidden in (True, False):
        with shown.meter(10, hidden=hidden) as meter, shown.reading("board.gbr", meter, hidden=hidden):
            time.sleep(0.1)
        assert ("reading board.gbr" in capsys.readouterr().err) is not hidden


@pytest.mark.usefixtures("unillustrated")
@pytest.mark.parametrize("quiet", [False, True])
def test_a_run_that_is_captured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], quiet: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shown, "_SILENT", 0.0)
    (tmp_path / "bar.wkt").write_text(BAR)
    with pytest.raises(SystemExit) as ended:
        main([*PLAN, *["-q"] * quiet])
    assert not ended.value.code
    check_printed(capfd.readouterr().err, quiet)


@pytest.mark.slow
@pytest.mark.parametrize("quiet", [False, True])
def test_a_run_without_a_terminal(tmp_path: Path, quiet: bool) -> None:
    """The same in a process of its own."""
    (tmp_path / "bar.wkt").write_text(BAR)
    script = (
        f"from laserpath.cli import main, progress\nprogress._SILENT = 0.0\nmain({[*PLAN, *['-q'] * quiet]})"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ},
    )  # fmt: skip
    check_printed(done.stderr, quiet)


def check_printed(printed: str, quiet: bool) -> None:
    lines = printed.splitlines()
    if quiet:
        assert lines == []
        return
    assert any(re.search(r"about .* to plan, with .* GB of memory; about .* to write", one) for one in lines)
    shares = [int(match[1]) for one in lines if (match := re.match(r"laserpath: (\d+) %", one))]
    assert shares and shares == sorted(shares)
    assert "\x1b" not in printed


def test_a_stack_has_one_share_and_one_time_left() -> None:
    """Layers of one, two and four times the work, at a steady pace."""
    clock, layers = Clock(), [1, 2, 4]
    meter = Meter(500, clock)
    meter.expect(*(replace(EXPECTED, trying=30.0 * k, solving=100.0 * k, finishing=20.0 * k) for k in layers))
    shares, left, names = [], [], []
    for number, work in enumerate(layers):
        meter.layer(number)
        events = reports_of()
        for event in events:
            clock.now += 130 * work / (len(events) - 1) if event.stage != "measure" else 0.0
            meter(event)
            shares.append(meter.share)
            left += [] if meter.left is None else [meter.left]
            names.append(meter.name)
        clock.now += 20 * work
    assert shares == sorted(shares) and shares[-1] == pytest.approx(1 - 20 * 4 / (150 * 7))
    assert names[0] == "layer 1 of 3, trying curves" and names[-1] == "layer 3 of 3, measuring and writing"
    assert left[0] > left[-1] and left[-1] == pytest.approx(80, rel=0.3)
    halfway = 150 * 3 / (150 * 7)
    assert max(share for share, name in zip(shares, names, strict=True) if "2 of 3" in name) <= halfway


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.02, "0.1 s"), (0.94, "0.9 s"), (7.6, "8 s"), (47, "50 s"), (119, "120 s"), (790, "13 min"),
        (7900, "2 h 10 min"), (7200, "2 h"), (50_000, "14 h"),
    ],
)  # fmt: skip
def test_a_rough_time_has_the_digits_that_are_known(seconds: float, words: str) -> None:
    assert rough(seconds) == words
