"""The drawing of a toolpath: lengths are true, travels dashed, nothing refers outside."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from exposures import Job
from hypothesis import given
from hypothesis import strategies as st
from pace_of_machine import within

from laserpath.report.toolpath_svg import draw, power_colour, round_length
from laserpath.types import Machine, Toolpath

SVG = "{http://www.w3.org/2000/svg}"


def parsed(job: Job) -> ElementTree.Element:
    return ElementTree.fromstring(draw(job.toolpath, job.design, job.process.machine))


def paths(root: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    return [e for e in root.iter(f"{SVG}path") if e.get("class") == kind]


def points(path: ElementTree.Element) -> np.ndarray:
    numbers = re.findall(r"-?\d+\.?\d*", path.attrib["d"])
    return np.array(numbers, dtype=float).reshape(-1, 2)


def drawn_length(root: ElementTree.Element, kind: str) -> float:
    return sum(float(np.hypot(*np.diff(points(p), axis=0).T).sum()) for p in paths(root, kind))


@pytest.mark.parametrize("kind", ["lit", "travel"])
def test_lengths_drawn_are_those_of_the_toolpath(job: Job, kind: str) -> None:
    chosen = job.toolpath.on if kind == "lit" else ~job.toolpath.on
    assert drawn_length(parsed(job), kind) == pytest.approx(job.toolpath.length[chosen].sum(), rel=1e-4)


def test_one_unit_is_a_millimetre_and_up_is_up(job: Job) -> None:
    root = parsed(job)
    width, height = (float(root.attrib[k].removesuffix("mm")) for k in ("width", "height"))
    assert [float(v) for v in root.attrib["viewBox"].split()] == pytest.approx([0, 0, width, height])
    first = points(next(e for e in root.iter(f"{SVG}path") if e.get("class")))
    move = np.diff(job.toolpath.xy[:2], axis=0)[0]
    assert np.diff(first[:2], axis=0)[0] == pytest.approx(move * (1, -1), abs=2e-4)


def test_only_travels_are_dashed(job: Job) -> None:
    root = parsed(job)
    assert all("stroke-dasharray" in p.attrib for p in paths(root, "travel"))
    assert not any("stroke-dasharray" in p.attrib for p in paths(root, "lit"))


def test_stronger_moves_are_wider_and_darker(job: Job) -> None:
    lit = {float(p.attrib["stroke-width"]): p.attrib["stroke"] for p in paths(parsed(job), "lit")}
    brightness = [sum(int(lit[w][i : i + 2], 16) for i in (1, 3, 5)) for w in sorted(lit)]
    assert len(lit) > 3
    assert brightness == sorted(brightness, reverse=True)


def test_scale_bar_is_as_long_as_it_says(job: Job) -> None:
    root = parsed(job)
    bar = next(e for e in root.iter(f"{SVG}path") if e.get("id") == "scale-bar")
    left, right = (float(x) for x in re.search(r"M([\d.]+),[\d.]+H([\d.]+)", bar.attrib["d"]).groups())  # type: ignore[union-attr]
    label = [e.text for e in root.iter(f"{SVG}text") if re.fullmatch(r"[\d.]+ (mm|µm)", e.text or "")]
    assert label == ["1 mm"]
    assert right - left == pytest.approx(1.0, abs=1e-4)


def test_start_is_marked(job: Job) -> None:
    root = parsed(job)
    mark = next(e for e in root.iter(f"{SVG}circle") if e.get("id") == "start")
    first = points(next(e for e in root.iter(f"{SVG}path") if e.get("class")))[0]
    assert [float(mark.attrib[k]) for k in ("cx", "cy")] == pytest.approx(first.tolist(), abs=1e-3)


def test_powers_in_the_legend_are_those_used(job: Job) -> None:
    texts = [e.text for e in parsed(job).iter(f"{SVG}text")]
    lit = job.toolpath.power[job.toolpath.on]
    assert f"{lit.min():.3g}" in texts
    assert f"{lit.max():.3g}" in texts


@pytest.mark.parametrize("name", ["<script>alert(1)<script>", "a & b", "bell \x07", "\udcff", "naïve – 設計"])
def test_any_name_gives_well_formed_xml(job: Job, name: str) -> None:
    text = draw(job.toolpath, replace(job.design, name=name), job.process.machine)
    text.encode("utf-8")
    root = ElementTree.fromstring(text)
    assert not list(root.iter(f"{SVG}script"))


def test_nothing_refers_outside(job: Job) -> None:
    text = draw(job.toolpath, job.design, job.process.machine)
    assert "href" not in text
    assert set(re.findall(r"https?://[^\"']*", text)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
        "http://www.w3.org/2001/xml-events",
    }


def test_a_far_work_zero_does_not_shrink_the_drawing(job: Job) -> None:
    far = replace(job.toolpath, xy=np.concatenate([[[-200.0, -150.0]], job.toolpath.xy[1:]]))
    root = ElementTree.fromstring(draw(far, job.design, job.process.machine))
    assert float(root.attrib["width"].removesuffix("mm")) < 10
    assert drawn_length(root, "lit") == pytest.approx(far.length[far.on].sum(), rel=1e-4)


@pytest.mark.parametrize("power", [0.0, 5.0])
def test_paths_of_one_power_or_of_none_are_drawn(job: Job, power: float) -> None:
    path = Toolpath(np.array([[1.0, 1], [2, 1], [2, 2]]), np.full(2, power), np.full(2, 10.0))
    root = ElementTree.fromstring(draw(path, job.design, Machine()))
    assert drawn_length(root, "lit") == pytest.approx(2.0 if power else 0.0)


def test_a_path_without_moves_is_drawn(job: Job) -> None:
    empty = Toolpath(np.zeros((1, 2)), np.zeros(0), np.zeros(0))
    assert not paths(ElementTree.fromstring(draw(empty, job.design, Machine())), "lit")


@pytest.mark.slow
def test_a_hundred_thousand_moves_take_seconds(job: Job) -> None:
    n, rng = 100_000, np.random.default_rng(1)
    path = Toolpath(
        np.cumsum(rng.normal(0, 0.02, (n + 1, 2)), axis=0), rng.uniform(1, 9, n), np.full(n, 40.0)
    )
    within(75, lambda: draw(path, job.design, Machine()))


@given(st.floats(1e-6, 1e6))
def test_round_lengths_are_1_2_or_5_and_fill_at_least_two_fifths(longest: float) -> None:
    length = round_length(longest)
    assert 0.4 * longest * (1 - 1e-9) <= length <= longest * (1 + 1e-6)
    assert f"{length:.0e}"[0] in "125"


def test_colours_run_from_light_to_dark() -> None:
    assert power_colour(-1) == power_colour(0)
    assert int(power_colour(0)[1:3], 16) > int(power_colour(1)[1:3], 16)
