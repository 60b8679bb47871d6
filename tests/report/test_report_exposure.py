"""The page of a program that was not planned here."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import shapely
from exposures import exposure, rings

import gcode
from laserpath.design.scene import Scene
from laserpath.machine.program import MachineProgram
from laserpath.report import PageText, Picture, ShownProgram, data, pictures, render_exposure
from laserpath.report.data import Track
from laserpath.types import Design, Machine, Process
from laserpath.types.results import Measurement

PROCESS = Process()
DISC = Design(shapely.MultiPolygon([shapely.Point(1, 1).buffer(0.8, quad_segs=40)]), "disc")


def shown(made: Measurement, design: Design | None = DISC) -> ShownProgram:
    path = rings(DISC, PROCESS.machine)
    scene = Scene(design, made.grid, PROCESS.spot, PROCESS.resin) if design else None
    run = MachineProgram.of(path, PROCESS).run
    return ShownProgram(path, run, made.grid, made.dose, PROCESS, scene, made.edges if design else None)


@pytest.mark.parametrize("level", [1.3, 2.0, 3.4])
def test_it_says_what_power_would_print_the_edges_where_they_are(level: float) -> None:
    """A blurred edge is right at twice the critical dose inside."""
    made = exposure(DISC, PROCESS, level)
    html = render_exposure(shown(made), PageText("disc.gcode", illustrated=False), made)
    advice = re.findall(r"truest with ([\d.]+)\W× the power at the same speed, or with ([\d.]+)\W× the", html)
    if level == 2.0:
        assert advice == []
        return
    ((power, speed),) = advice
    assert float(power) == pytest.approx(2 / level, rel=0.06)
    assert float(power) * float(speed) == pytest.approx(1, rel=0.06)


def test_without_a_design_it_says_what_cures_and_how_long_it_takes() -> None:
    made = exposure(DISC, PROCESS, 2.0)
    png = b"\x89PNG\r\n"
    html = render_exposure(
        shown(made, None),
        PageText(
            "disc.gcode", pictures=[Picture.from_png("Another", png, "another picture", "below")],
            answers=[("Who wrote it", "A <tool>.")], header=("; head",), project="quality = 'fine'",
        ),
    )  # fmt: skip
    text = html.replace("\u00a0", " ")
    (cured,) = re.findall(r"<p>Cures ([\d.]+) mm² in", text)
    assert float(cured) == pytest.approx(DISC.area.area, rel=0.01)
    assert "--design" in text
    assert "Who wrote it</h3><p>A &lt;tool&gt;." in text
    assert text.index("Another</h3>") < text.index("Doses</h3>")
    assert 'alt="another picture"' in text
    assert "; head" in text
    assert "quality = &#39;fine&#39;" in text
    assert 'id="places"' not in text
    assert 'id="figures"' not in text


def test_a_dark_program_has_a_page_too() -> None:
    made = exposure(DISC, PROCESS, 2.0)
    dark = replace(shown(made, None), dose=np.zeros(made.grid.shape))
    assert "Cures 0 mm²" in render_exposure(dark, PageText("dark.gcode")).replace("\u00a0", " ")


@pytest.mark.parametrize("design", [DISC, None], ids=["judged", "alone"])
def test_a_page_follows_the_spot_once(monkeypatch: pytest.MonkeyPatch, design: Design | None) -> None:
    followed: list[object] = []
    real = data.track

    def note(run: gcode.motion.Executed, machine: Machine) -> Track:
        followed.append(run)
        return real(run, machine)

    monkeypatch.setattr(data, "track", note)
    made = exposure(DISC, PROCESS, 2.0)
    assert render_exposure(shown(made, design), PageText("disc.gcode"), made if design else None)
    assert len(followed) == 1


def test_some_pixels_of_a_large_grid_tell_the_doses_of_all() -> None:
    program, bins = shown(exposure(DISC, PROCESS)), np.linspace(0, 2.2, 9)
    whole, some = (pictures._areas_by_dose(program, bins, every) for every in (1, 3))
    assert whole.sum() / some.sum() == pytest.approx(9, rel=0.01)
    below = [np.cumsum(found / found.sum(axis=1, keepdims=True), axis=1) for found in (whole, some)]
    assert np.abs(below[0] - below[1]).max() < 0.05, "of some hundred pixels"
