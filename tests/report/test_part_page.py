"""The page of a part: its figures, its views and its layers, in one file."""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import shapely
from PIL import Image

from laserpath.design.supports import Unsupported
from laserpath.measure.columns import Columns, Curing
from laserpath.measure.surface import Filling, Surface, Voxels
from laserpath.report import part
from laserpath.report.pages import records
from laserpath.types import Design, Grid, LayerChange, Machine, Process, Resin, Settings, Spot

H = 0.05
RESIN = Resin(critical_dose=0.14, e_c=0.085, penetration_depth=0.1)
GRID = Grid((0.0, 0.0), 0.04, (30, 50))
X, Y = np.meshgrid(GRID.x(), GRID.y())
BLOCK = (np.abs(X - 1) < 0.6) & (np.abs(Y - 0.6) < 0.4)
LEG = BLOCK & (X < 0.8)
SOLID = [LEG] * 6 + [BLOCK] * 10


def made(name: str = "table", warnings: tuple[str, ...] = ()) -> part.PartData:
    """A leg and a top on it; all layers just cure, those alone with twice the dose."""
    columns = Columns.of(GRID, SOLID, np.full(len(SOLID), H), fwhm=0.1)
    curing, alone, filling = Curing(columns, RESIN), Curing(columns, RESIN), Filling(columns)
    for k in reversed(range(len(SOLID))):
        filling.add(k, curing.add(np.where(SOLID[k], 0.14, 0.0)))
        alone.add(np.where(SOLID[k], 0.28, 0.0))
    z = tuple(H * (k + 1) for k in range(len(SOLID)))
    whole = Design(shapely.box(0.4, 0.2, 1.6, 1.0), name)
    return part.PartData(
        whole, Process(Spot(0.1), RESIN, Machine()), Settings(), z, 2, 75.0, curing.result(),
        Surface(0.004, 0.012, 0.1, 3.0), alone.result(), Surface(0.05, 0.2, 0.2, 3.0), filling.result(),
        warnings,
    )  # fmt: skip


@pytest.fixture
def few_views(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part, "_SIDES", 2)
    monkeypatch.setattr(part, "_SHAPE", (60, 80))


@pytest.fixture
def page(few_views: None) -> str:
    return part.part_page(made("<b>table", ("a span of 1 mm",)))


def test_the_page_has_all_layers_and_views_and_refers_to_nothing(page: str) -> None:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    data = json.loads(text)
    assert len(data["views"]) == 4, "from above and from below"
    assert [one["number"] for one in data["layers"]] == list(range(1, 17))
    assert {one["picture"] for one in data["layers"]} == set(range(len(data["pictures"])))
    assert len(data["pictures"]) < 16, "equal layers have one"
    assert all(one.startswith("data:image/png;base64,") for one in data["views"] + data["pictures"])
    assert not re.search(r'(?:src|href)="(?!data:|#)', page)
    assert "&lt;b&gt;table" in page
    assert "<b>table" not in page
    assert "a span of 1 mm" in page


def test_the_figures_are_those_of_both(page: str) -> None:
    data = made()
    for one in (data.cured, data.undimmed):
        assert f"{1000 * one.through:.1f} µm" in page
    assert "12.0 µm" in page
    (row,) = re.findall(r'<table id="overhangs">.*?<tbody>(.*?)</tbody>', page, re.DOTALL)
    cells = re.findall(r'<td class="n">(.*?)</td>', row)
    through = [f"{1000 * one.through:.0f}" for one in (data.undimmed, data.cured)]
    assert cells[:4] == ["0.3", f"{data.cured.overhangs[0].area:.3g}", *through]
    assert "20 µm or more too far out" in page


def test_views_show_the_part_from_above_and_from_below() -> None:
    """The underside of the top is seen from below only; colours say that it is too far out."""
    shape = made().shape
    cropped = part._cropped(shape)
    assert cropped.cured.sum() == pytest.approx(shape.cured.sum(), rel=1e-3)
    assert cropped.cured.shape[2] * cropped.pitch[0] == pytest.approx(1.2, abs=0.1)
    colours = part._lit(cropped, 0.02, cropped.pitch)[..., :3]
    below = part._RIM + 6 * (cropped.cured.shape[0] // 16) - 1
    red, _, blue = colours[below, colours.shape[1] // 2, -part._RIM - 4]
    assert red > 1.5 * blue
    assert isinstance(shape, Voxels)


@pytest.mark.parametrize("light", ["above", "below"])
def test_what_cannot_print_is_ringed_in_its_layer(light: str, few_views: None) -> None:
    """On the side where it was drawn, also if the part hung and was exposed mirrored."""
    data = made()
    machine = replace(data.process.machine, layer_change=LayerChange(light))
    island = Unsupported("island", 6, (0.5, 0.9), "island")
    data = replace(data, process=replace(data.process, machine=machine), hanging=(island,))
    text = part.part_page(data)
    (found,) = re.findall(r'<button type="button" data-layer="(\d+)">show</button> island', text)
    (packed,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    shown = json.loads(packed)

    def picture(k: int) -> np.ndarray:
        png = base64.b64decode(shown["pictures"][shown["layers"][k]["picture"]].partition(",")[2])
        return np.asarray(Image.open(io.BytesIO(png)).convert("L"), float)

    row, column = (where.mean() for where in np.nonzero(picture(int(found)) < 60))
    x = 0.5 if light == "above" else 1.96 - 0.5  # the picture is of -0.02 to 1.98 mm
    assert (column + 0.5, row + 0.5) == pytest.approx(((x + 0.02) / 0.04, 30 - (0.9 + 0.02) / 0.04), abs=0.3)
    assert (picture(7) > 60).all()
    assert 'id="hanging"' not in part.part_page(made())


def test_a_part_that_hung_is_shown_as_it_was_drawn() -> None:
    """Light from below exposes it mirrored."""
    data = made()
    machine = replace(data.process.machine, layer_change=LayerChange("below"))
    hung = part._standing(replace(data, process=replace(data.process, machine=machine)))
    assert np.array_equal(hung.cured, data.shape.cured[..., ::-1])
    assert np.array_equal(hung.layers[0], data.shape.layers[0][:, ::-1])
    assert not np.array_equal(hung.drawn, data.shape.drawn)
    assert part._standing(data) is data.shape


def test_what_the_machine_does_between_layers_is_said_in_words() -> None:
    """It was printed as Python prints it."""
    data = made()

    def said(change: LayerChange) -> str:
        process = replace(data.process, machine=replace(data.process.machine, layer_change=change))
        (machine,) = (dict(rows) for title, rows in records(process, None, None) if title == "Machine")
        return machine["layer_change"]

    assert said(LayerChange("below", 3.0, settle=1.5)) == "light below, lift 3 mm, settle 1.5 s"
    swept = LayerChange(sweep_from=(0.0, 4.0), sweep_to=(6.0, 4.0), sweep_speed=20.0)
    assert said(swept) == "sweep from (0, 4) mm, sweep to (6, 4) mm, sweep speed 20 mm/s"
    assert said(LayerChange()) == "none"


@pytest.mark.parametrize(("later", "level"), [(3, "good"), (None, "fair")])
def test_an_underside_that_never_gels_is_in_the_verdict(
    later: int | None, level: str, few_views: None
) -> None:
    data = made()
    overhangs = tuple(replace(one, later=later) for one in data.cured.overhangs)
    text = part.part_page(replace(data, cured=replace(data.cured, overhangs=overhangs)))
    assert f'class="card verdict {level}"' in text
    assert ("does not gel" in text) == (later is None)


def test_a_finger_turns_the_part_and_its_layers_are_gone_through(
    page: str, tmp_path: Path, need: Callable[[str], str]
) -> None:
    """On a telephone whose browser has no WebGL, from a file."""
    from playwright import sync_api as api

    (tmp_path / "part.html").write_text(page.replace("</h1>", "</h1><button data-layer='6'>go</button>"))
    flags = ["--no-sandbox", "--disable-gpu", "--disable-3d-apis"]
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=need("chromium"), args=flags)
        phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
        opened = browser.new_context(**phone).new_page()
        wrong: list[str] = []
        asked: list[str] = []
        opened.on("pageerror", lambda error: wrong.append(str(error)))
        opened.on("console", lambda message: wrong.append(message.text))
        opened.on("request", lambda request: asked.append(request.url))
        opened.goto((tmp_path / "part.html").as_uri())
        assert not opened.evaluate("document.createElement('canvas').getContext('webgl')")
        fingers = opened.context.new_cdp_session(opened)
        views = json.loads(opened.locator("#data").inner_text())["views"]

        def drag(x: float, y: float) -> str:
            opened.locator("#view").scroll_into_view_if_needed()
            box = opened.locator("#view").bounding_box()
            begin = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            for kind, points in (("touchStart", [begin]), ("touchMove", [(begin[0] + x, begin[1] + y)]),
                                 ("touchEnd", [])):  # fmt: skip
                given = [{"x": px, "y": py} for px, py in points]
                fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": given})
            return str(opened.locator("#view").get_attribute("src"))

        assert opened.locator("#view").get_attribute("src") == views[0]
        assert drag(30, 0) == views[1], "to the next side"
        assert drag(0, -80) == views[3], "and from below"
        first = opened.locator("#layer").get_attribute("src")
        opened.locator("#which").fill("8")
        assert opened.locator("#said").inner_text() == "9 of 16, z 0.45 mm"
        assert opened.locator("#layer").get_attribute("src") != first
        opened.locator("[data-layer]").click()
        assert opened.locator("#said").inner_text() == "7 of 16, z 0.35 mm"
        assert opened.evaluate("document.documentElement.scrollWidth") <= 390
        assert (wrong, len(asked)) == ([], 1)
        browser.close()
