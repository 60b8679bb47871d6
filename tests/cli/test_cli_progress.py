"""How far a plan is: shares that do not go back, a time left that falls, plain lines without a terminal."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sets import examples, one_fast

from laserpath import Progress
from laserpath.base.plan_steps import SOLVING
from laserpath.cli import main
from laserpath.cli import progress as shown
from laserpath.cli.progress import Lines, Meter, line
from laserpath.cli.show import rough
from laserpath.planning import Forecast, PlanStep

BAR = "POLYGON((0 0,2 0,2 1,0 1,0 0))"
PLAN = ["plan", "bar.wkt", "--iterations", "30", "--initial", "contour", "--report", "brief"]
STEPS = (
    PlanStep("start", 5.0), PlanStep("try", 20.0, 20), PlanStep("shape", 20.0, 20), PlanStep("simplify", 3.0),
    PlanStep("refine", 40.0, 40), PlanStep("execute", 10.0, 20), PlanStep("levels", 5.0),
    PlanStep("place", 12.0, 2), PlanStep("measure", 5.0), PlanStep("limit", 20.0, 25),
    PlanStep("report", 10.0),
)  # fmt: skip
EXPECTED = Forecast(STEPS, memory=1e9, write_seconds=60.0)
TOTAL = 150.0
ALL = {step.name: 1.0 for step in STEPS}
"""The share of its rounds that each step needs."""


class Clock:
    """s, as it is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Run:
    """A plan on a fake clock, that takes the forecast's seconds times `pace` of each step.

    shares, left: after each report.  truth: s that were really left then.
    """

    def __init__(self, forecast: Forecast = EXPECTED) -> None:
        self.clock = Clock()
        self.meter = Meter(self.clock)
        self.clock.now = 4.0  # reading
        assert self.meter.left is None and self.meter.share == 0
        self.meter.expect(forecast)
        self.shares: list[float] = []
        self.left: list[float] = []
        self.at: list[float] = []

    def step(self, step: PlanStep, pace: float = 1.0, done: float = 1.0) -> None:
        """One step, of which the share `done` of its rounds is needed; those without any just begin."""
        count = int(step.rounds)
        needed = max(round(done * count), 1)
        if step.name in ("simplify", "levels", "place", "measure", "limit", "report"):
            self.tell(step.name, 0, count)
        for k in range(1, needed + 1):
            self.clock.now += pace * step.seconds / count
            if count > 1:
                self.tell(step.name, k, count)

    def tell(self, stage: str, k: int, of: int) -> None:
        if stage == "report":
            self.meter.writing()
        else:
            self.meter(Progress(stage, k, of, math.nan if of == 1 else 1.0))
        self.note()

    def note(self) -> None:
        self.shares.append(self.meter.share)
        self.left.append(-1.0 if self.meter.left is None else self.meter.left)
        self.at.append(self.clock.now)

    @property
    def truth(self) -> list[float]:
        return [self.clock.now - at for at in self.at]


def run(pace: dict[str, float], done: dict[str, float] = ALL, steps: Sequence[PlanStep] = STEPS) -> Run:
    """All steps at their paces, each with its share of rounds, until the end."""
    made = Run()
    for step in steps:
        made.step(step, pace[step.name], done[step.name])
    made.meter.end()
    made.note()
    return made


@examples(30)
@given(data=st.data())
def test_over_all_steps_the_share_never_goes_back_and_ends_at_1(data: st.DataObject) -> None:
    paces = {step.name: data.draw(st.floats(0.1, 10)) for step in STEPS}
    done = {step.name: data.draw(st.floats(0.01, 1)) for step in STEPS}
    made = run(paces, done)
    assert all(b >= a for a, b in pairwise(made.shares))
    assert made.shares[0] > 0 and made.shares[-2] < 1 and made.shares[-1] == 1
    assert all(value >= 0 for value in made.left) and made.left[-1] == 0


@pytest.mark.parametrize("pace", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(
    "done", [ALL, {**ALL, "refine": 0.3, "limit": 0.7}, {**ALL, "try": 0.5}], ids=["all", "early", "two"]
)
def test_at_a_steady_pace_the_time_left_falls_and_comes_true(done: dict[str, float], pace: float) -> None:
    made = run(dict.fromkeys(ALL, pace), done)
    # That the computer is slower than forecast is learned, and then the time left rises.
    assert pace > 1 or all(b <= a + 1e-9 for a, b in pairwise(made.left))
    late = [(left, truth) for left, truth in zip(made.left, made.truth, strict=True) if truth < 60 * pace]
    # What turns out to be needless is not known before; apart from it, a few seconds or a third.
    needless = pace * sum(step.seconds * (1 - done[step.name]) for step in STEPS)
    assert all(truth / 1.4 - 3 <= left <= 1.4 * truth + 3 + needless for left, truth in late)
    assert made.left[-2] == pytest.approx(made.truth[-2], rel=0.2), "the report"


@pytest.mark.parametrize("slow", ["refine", "place", "limit"])
def test_a_step_that_takes_three_times_as_long_corrects_the_time_left(slow: str) -> None:
    made = run({**dict.fromkeys(ALL, 1.0), slow: 3.0})
    step = next(step for step in STEPS if step.name == slow)
    halfway = made.at.index(
        next(at for at in made.at if made.clock.now - at < after(slow) + 1.5 * step.seconds)
    )
    assert made.left[halfway] == pytest.approx(made.truth[halfway], rel=0.4)


def after(name: str) -> float:
    """S of the steps after this one."""
    names = [step.name for step in STEPS]
    return sum(step.seconds for step in STEPS[names.index(name) + 1 :])


def test_bar_and_time_left_say_the_same_and_go_on_between_reports() -> None:
    made = Run()
    assert made.meter.left == pytest.approx(TOTAL), "what the line before has said"
    assert made.meter.share == pytest.approx(4 / (4 + TOTAL)), "reading is done"
    for step in STEPS[:3]:
        made.step(step)
    before = made.meter.left or 0.0
    made.clock.now += 2.0
    assert made.meter.left == pytest.approx(before - 2)
    assert made.meter.share == pytest.approx(made.clock.now / (made.clock.now + before - 2))
    made.clock.now += 1000.0
    assert made.meter.left == pytest.approx(after("shape"), rel=0.1), "a step that hangs; the others are left"
    assert made.meter.share < 1


def test_a_new_forecast_does_not_move_the_share_back() -> None:
    """Fitted strokes of a grey picture: more is known after the fit."""
    fit = Forecast(
        (PlanStep("start", 1.0), PlanStep("fit", 20.0, 80), PlanStep("powers", 30.0, 30)), 1e9, 0.0
    )
    made = Run(fit)
    made.step(PlanStep("start", 1.0))
    made.step(PlanStep("fit", 20.0, 80))
    assert made.meter.name == "fitting strokes"
    assert made.meter.left == pytest.approx(30, rel=0.1)
    made.meter.expect(replace(fit, steps=(*fit.steps[:2], PlanStep("powers", 90.0, 30))))
    assert made.meter.left == pytest.approx(90, rel=0.1)
    made.step(PlanStep("powers", 90.0, 30))
    assert made.shares == sorted(made.shares)


def test_sensitivity_counts_on_after_the_report() -> None:
    whole = EXPECTED.with_sensitivity
    assert whole.plan_seconds > 1.5 * EXPECTED.plan_seconds
    made = Run(whole)
    for step in STEPS:
        made.step(step)
    assert made.meter.left == pytest.approx(whole.plan_seconds - TOTAL, rel=0.1)
    for k in range(16):
        made.clock.now += 1.0
        made.tell("sensitivity", k, 15)
    assert made.meter.name == "sensitivity, 15 of 15"
    assert made.shares == sorted(made.shares)


def test_the_plans_for_a_tolerance_are_counted_on() -> None:
    made = Run(replace(EXPECTED, plans=2.5))
    again = [step for step in STEPS if step.name in SOLVING]
    once = sum(step.seconds for step in again)
    assert made.meter.left == pytest.approx(TOTAL + 1.5 * once)
    for step in (*STEPS[:2], *again, *again, *again):
        made.step(step)
    assert made.meter.left == pytest.approx(after("place"), rel=0.2)
    assert made.shares == sorted(made.shares)


def test_stopped_early_only_the_ending_is_left() -> None:
    made = Run()
    for step in STEPS[:4]:
        made.step(step, pace=2.0)
    ending = made.meter.ending
    assert ending == pytest.approx(2 * 35, rel=0.3)
    assert not made.meter.ended
    made.meter.finishing()
    assert made.meter.name == "measuring" and made.meter.ended
    assert made.meter.left == pytest.approx(ending, rel=0.05)


def test_plain_lines_come_after_30_s_or_10_percent(capsys: pytest.CaptureFixture[str]) -> None:
    made = Run()
    made.meter.on_change = Lines(made.meter, made.clock)
    for step in STEPS:
        made.step(step)
    printed = capsys.readouterr().err.splitlines()
    found = [re.match(r"laserpath: (\d+) %, [a-z ']+; about .+ left$", one) for one in printed]
    shares = [int(one[1]) for one in found if one]
    assert len(shares) == len(printed) and shares == sorted(shares)
    assert 7 <= len(shares) <= 10
    assert "writing the report" in line(made.meter)


def test_a_step_without_reports_says_a_line_every_30_s(capsys: pytest.CaptureFixture[str]) -> None:
    made = Run(replace(EXPECTED, steps=(PlanStep("start", 1.0), PlanStep("shape", 10_000.0, 1000))))
    tick = Lines(made.meter, made.clock)
    for _ in range(120):
        made.clock.now += 1.0
        tick()
    assert 3 <= len(capsys.readouterr().err.splitlines()) <= 5


def test_a_long_reading_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shown, "_SILENT", 0.01)
    for hidden in (True, False):
        with shown.meter(hidden=hidden) as meter:
            meter.name = "reading board.gbr"
            time.sleep(0.1)
        assert ("reading board.gbr" in capsys.readouterr().err) is not hidden


@pytest.mark.parametrize("quiet", one_fast([False, True], False))
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
    made, layers = Run(), [1, 2, 4]
    each = [
        replace(EXPECTED, steps=tuple(step._replace(seconds=k * step.seconds) for step in STEPS[:-1]))
        for k in layers
    ]
    made.meter.expect(*each)
    names = []
    for number, one in enumerate(each):
        made.meter.layer(number)
        for step in one.steps:
            made.step(step)
            names.append(made.meter.name)
    assert made.shares == sorted(made.shares) and made.shares[-1] > 0.95
    assert (
        names[1] == "layer 1 of 3, trying curves" and names[-1] == "layer 3 of 3, computing the spot's limit"
    )
    assert all(
        truth / 1.2 - 1 < left < 1.2 * truth + 1 for left, truth in zip(made.left, made.truth, strict=True)
    )


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.02, "0.1 s"), (0.94, "0.9 s"), (7.6, "8 s"), (47, "50 s"), (119, "120 s"), (790, "13 min"),
        (7900, "2 h 10 min"), (7200, "2 h"), (50_000, "14 h"),
    ],
)  # fmt: skip
def test_a_rough_time_has_the_digits_that_are_known(seconds: float, words: str) -> None:
    assert rough(seconds) == words
