"""The report in a real browser: opened from a file, without network, by mouse, finger, keys and on paper."""

from __future__ import annotations

import io
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from exposures import Job, blurred_limit, make_job
from PIL import Image, ImageColor
from scipy.ndimage import map_coordinates
from scipy.spatial import cKDTree

import laserpath
from laserpath import report
from laserpath.machine.program import MachineProgram
from laserpath.report import Column, PageText, ShownProgram
from laserpath.simulation.comparison import compare
from laserpath.types import Design, Process, Resin
from laserpath.types.drawing import Part

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
PATIENCE = 10.0
Open = Callable[..., Any]
MOST = 5_000_000
"""Bytes of a page of a 5 mm design."""


@pytest.fixture(scope="module")
def browser(need: Callable[[str], str]) -> Iterator[Any]:
    from playwright import sync_api as api

    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=need("chromium"), args=list(FLAGS))
        yield browser
        browser.close()


def render(
    job: Job,
    name: str = "",
    header: tuple[str, ...] = ("laserpath 1.2.3",),
    project: str = 'design = "plate.svg"\n',
) -> str:
    text = PageText(name or job.design.name, header=header, project=project)
    return report.render(job.page_data, text, job.run)


def saved(html: str, folder: Path, name: str) -> str:
    path = folder / f"{name}.html"
    path.write_text(html, encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def address(job: Job, folder: Path) -> str:
    return saved(render(job), folder, "plate")


class Seen:
    """A page that was opened, and what went wrong in it."""

    def __init__(self, browser: Any, address: str, *, ready: bool = True, before: str = "", **context: Any):
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **context})
        self.page = self.context.new_page()
        self.wrong: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.wrong.append(message.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        if before:
            self.page.add_init_script(before)
        self.page.goto(address)
        if ready:
            self.until("window.laserpath && window.laserpath.ready")

    def until(self, expression: str) -> None:
        """Wait for an expression. The page's policy stops the waiting of Playwright, which evaluates text."""
        end = time.monotonic() + PATIENCE
        while not self.page.evaluate(expression):
            assert time.monotonic() < end, f"not in {PATIENCE:g} s: {expression}"
            self.page.wait_for_timeout(10)

    def state(self, name: str) -> Any:
        """One thing that `window.laserpath` says."""
        return self.page.evaluate(f"window.laserpath.{name}")

    def rest(self) -> None:
        """Wait until what was done is seen: the browser tells the page of mouse and wheel with a frame."""
        self.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        self.until("!window.laserpath.moving")

    def picture(self) -> bytes:
        """What the map shows now."""
        self.rest()
        return bytes(self.page.locator("#viewer canvas").screenshot())

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where on the screen a place in mm is."""
        box = self.page.locator("#viewer canvas").bounding_box()
        view = self.state("view")
        right = box["x"] + box["width"] / 2 + (x - view["x"]) * view["zoom"]
        return right, box["y"] + box["height"] / 2 - (y - view["y"]) * view["zoom"]

    def point(self, x: float, y: float) -> None:
        """The mouse at a place in mm."""
        self.page.mouse.move(*self.at(x, y))
        self.rest()

    def shown(self, name: str) -> str:
        return str(self.page.locator(f"[data-tell={name}]").inner_text())

    def layer(self, name: str) -> None:
        self.page.locator(f"[name=layer][value={name}]").check(force=True)


@pytest.fixture(scope="module")
def everywhere(browser: Any, address: str) -> Iterator[Seen]:
    seen = Seen(browser, address)
    yield seen
    seen.context.close()


@pytest.fixture
def seen(everywhere: Seen) -> Iterator[Seen]:
    """The page as it is when it is opened; nothing goes wrong in it."""
    everywhere.page.reload()
    everywhere.until("window.laserpath && window.laserpath.ready")
    everywhere.page.locator("#viewer canvas").scroll_into_view_if_needed()
    everywhere.rest()
    yield everywhere
    assert everywhere.wrong == []


@pytest.fixture
def opened(browser: Any) -> Iterator[Open]:
    """Opens an address in a context of its own."""
    pages: list[Seen] = []

    def of(address: str, **context: Any) -> Seen:
        pages.append(Seen(browser, address, **context))
        return pages[-1]

    yield of
    for one in pages:
        one.context.close()


# Opening


def test_it_opens_from_a_file_without_errors_and_asks_for_nothing_else(opened: Open, address: str) -> None:
    seen = opened(address)
    assert seen.requests == [address]
    assert seen.wrong == []
    assert seen.page.locator("#viewer").is_visible()
    assert not any(image.is_visible() for image in seen.page.locator("figure.map").all())


def test_the_policy_of_the_page_lets_nothing_out(seen: Seen) -> None:
    stopped = seen.page.evaluate(
        "fetch('data:text/plain,x').then(() => 'let through', () => 'stopped')"
    )  # not even what needs no network
    assert stopped == "stopped"
    seen.wrong.clear()  # the browser says so


def test_the_first_screen_has_the_verdict_with_its_warnings_and_the_map(opened: Open, address: str) -> None:
    seen = opened(address, viewport={"width": 1280, "height": 800})
    places = (".verdict > p", ".verdict .more a", "#viewer canvas", ".play", "#warnings")
    boxes = [seen.page.locator(place).first.bounding_box() for place in places]
    assert [box["y"] for box in boxes] == sorted(box["y"] for box in boxes)
    assert boxes[3]["y"] + boxes[3]["height"] <= 800, "verdict, map and clock without scrolling"
    assert boxes[2]["y"] < 350 and boxes[2]["height"] >= 320


def test_no_letter_needs_a_font_of_symbols(seen: Seen) -> None:
    """A system may have no font with ⛶, ▶ or ✗, and shows a box; all pictures are drawn."""
    text = seen.page.evaluate("document.documentElement.outerHTML.split('<script')[0]")
    text += "".join(seen.page.locator("main").all_inner_texts())
    assert not {letter for letter in text if "\u2500" <= letter <= "\u2bff" or ord(letter) > 0xFFFF}
    button = seen.page.get_by_role("button", name="Show all")
    assert button.is_visible() and button.locator("svg").bounding_box()["width"] > 8


def test_everything_that_can_be_used_has_a_name(seen: Seen) -> None:
    nameless = seen.page.evaluate(
        """[...document.querySelectorAll("button, input, select, canvas")].filter((one) =>
             !(one.getAttribute("aria-label") || one.textContent.trim() || (one.labels || []).length))
             .map((one) => one.outerHTML)"""
    )
    assert nameless == []


# The map


def test_each_layer_is_another_picture(seen: Seen) -> None:
    pictures = []
    for layer in ("cure", "dose", "design"):
        seen.layer(layer)
        assert seen.state("layer") == layer
        pictures.append(seen.picture())
    for overlay in ("outline", "error", "path", "travel", "places"):
        seen.page.locator(f"[data-show={overlay}]").click()
        pictures.append(seen.picture())
    assert len(set(pictures)) == len(pictures)


def test_the_dose_of_the_viewer_is_the_dose_that_was_measured(job: Job, seen: Seen) -> None:
    made, critical = job.report.executed, job.process.resin.critical_dose
    x0, x1, y0, y1 = made.grid.extent
    at = np.random.default_rng(4).uniform((x0 + 0.3, y0 + 0.3), (x1 - 0.3, y1 - 0.3), (60, 2))
    expected = map_coordinates(made.dose / critical, made.grid.to_pixels(at)[:, ::-1].T, order=3)
    shown = seen.page.evaluate("at => at.map(([x, y]) => window.laserpath.dose(x, y))", at.tolist())
    assert shown == pytest.approx(expected.tolist(), abs=3e-3)


def test_the_colours_are_those_of_what_cures(job: Job, seen: Seen) -> None:
    """At the bar that is lost and at the slit that closes, nearer: the colours say what cures where."""
    made, area = job.report.executed, job.design.area
    colours = {
        (True, True): "#b9c4cc",
        (True, False): "#d55e00",
        (False, True): "#0072b2",
        (False, False): "#ffffff",
    }
    for overlay in ("places", "outline"):
        seen.page.locator(f"[data-show={overlay}]").uncheck()
    seen.point(4.6, 2.4)
    turn(seen, -120)
    box = seen.page.locator("#viewer canvas").bounding_box()
    image = Image.open(io.BytesIO(seen.picture())).convert("RGB")
    view, size = seen.state("view"), np.array([box["width"], box["height"]])
    part = np.random.default_rng(3).uniform((0.02, 0.3), (0.98, 0.85), (3000, 2))  # beside the buttons
    pixel = (part * size).astype(int)
    at = (pixel + 0.5 - size / 2) * (1, -1) / view["zoom"] + (view["x"], view["y"])
    steps = np.array([(a, b) for a in (-0.01, 0, 0.01) for b in (-0.01, 0, 0.01)])
    near = made.grid.to_pixels((at[:, None] + steps).reshape(-1, 2))[:, ::-1].T
    dose = map_coordinates(made.dose, near, order=3).reshape(len(at), -1) / job.process.resin.critical_dose
    edge = (dose.min(axis=1) < 1.01) & (dose.max(axis=1) > 0.99)
    edge |= shapely.distance(area.boundary, shapely.points(at)) < 0.012
    kinds = np.stack([dose[:, 0] > 1, shapely.contains_xy(area, *at.T)], axis=1)
    found = set()
    for place, kind in zip(pixel[~edge].tolist(), map(tuple, kinds[~edge].tolist()), strict=True):
        found.add(kind)
        assert image.getpixel(tuple(place)) == ImageColor.getrgb(colours[kind])
    assert found == set(colours)


def test_the_wheel_zooms_about_the_cursor(seen: Seen) -> None:
    before, (left, top) = seen.state("view"), seen.at(2.0, 3.2)
    seen.page.mouse.move(left, top)
    turn(seen, -300)
    after = seen.state("view")
    assert after["zoom"] > 1.3 * before["zoom"]
    assert seen.at(2.0, 3.2) == pytest.approx((left, top), abs=0.6)


def turn(seen: Seen, by: float, key: str = "Control") -> None:
    """The wheel with a key held."""
    seen.page.keyboard.down(key)
    seen.page.mouse.wheel(0, by)
    seen.rest()
    seen.page.keyboard.up(key)


def scrolled(seen: Seen) -> float:
    """How far down the page is, when it has come to rest."""
    now, before = float(seen.page.evaluate("scrollY")), -1.0
    while now != before:
        seen.page.wait_for_timeout(60)
        now, before = float(seen.page.evaluate("scrollY")), now
    return now


def test_the_wheel_is_the_pages_until_the_map_is_clicked(seen: Seen) -> None:
    page, hint = seen.page, seen.page.locator(".hint")
    page.evaluate("scrollTo(0, 0)")
    whole, (left, top) = seen.state("view"), seen.at(2.0, 3.2)
    page.mouse.move(left, top)
    page.mouse.wheel(0, 50)
    assert scrolled(seen) == 50
    assert seen.state("view") == whole
    assert "Ctrl" in hint.inner_text() and "seen" in hint.get_attribute("class")
    page.mouse.click(left, top)
    page.mouse.wheel(0, -200)
    seen.rest()
    assert scrolled(seen) == 50
    assert seen.state("view")["zoom"] > 1.3 * whole["zoom"]
    assert "seen" not in hint.get_attribute("class")
    page.mouse.move(left, 20)
    page.mouse.move(left, top)
    page.mouse.wheel(0, -50)
    assert scrolled(seen) == 0, "the mouse has left the map, which let go"
    page.keyboard.down("Meta")
    before = seen.state("view")["zoom"]
    page.mouse.wheel(0, -100)
    page.keyboard.up("Meta")
    seen.rest()
    assert seen.state("view")["zoom"] > before


def test_keys_need_no_focus_on_the_map(seen: Seen) -> None:
    keyboard, whole = seen.page.keyboard, seen.state("view")
    seen.page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    keyboard.press("ArrowDown")
    assert scrolled(seen) > 0, "all is shown, so that the arrows are the page's"
    assert seen.state("view") == whole
    for key in ("+", "+"):
        keyboard.press(key)
    nearer, before = seen.state("view"), scrolled(seen)
    assert nearer["zoom"] > 2 * whole["zoom"]
    keyboard.press("ArrowDown")
    assert scrolled(seen) == before
    assert seen.state("view")["y"] < nearer["y"]
    keyboard.press(" ")
    assert seen.state("playing")
    keyboard.press(" ")
    assert not seen.state("playing")
    keyboard.press("0")
    seen.rest()
    assert seen.state("view") == pytest.approx(whole)


def test_keys_are_left_to_what_has_the_focus_and_to_a_page_without_the_map(seen: Seen) -> None:
    whole = seen.state("view")
    seen.page.locator("[name=rate]").focus()
    for key in ("+", "1"):
        seen.page.keyboard.press(key)
    seen.page.locator("[data-show=path]").focus()
    seen.page.keyboard.press(" ")
    assert seen.state("shown.path") and not seen.state("playing")
    assert seen.state("view") == whole
    seen.page.evaluate("document.activeElement.blur(); scrollTo(0, 1e6)")
    seen.page.keyboard.press("+")
    assert seen.state("view") == whole


def test_dragging_moves_the_map_with_the_hand(seen: Seen) -> None:
    seen.page.get_by_role("button", name="Zoom in").click()
    left, top = seen.at(3.0, 2.5)
    seen.page.mouse.move(left, top)
    seen.page.mouse.down()
    seen.page.mouse.move(left + 40, top + 8)
    seen.page.mouse.move(left + 80, top + 30)
    seen.page.mouse.up()
    seen.rest()
    # The first few pixels are forgiven to a hand that only points.
    assert math.dist(seen.at(3.0, 2.5), (left + 80, top + 30)) < 8


def test_buttons_zoom_and_show_all_again(seen: Seen) -> None:
    whole = seen.state("view")
    seen.page.get_by_role("button", name="Zoom in").click()
    nearer = seen.state("view")["zoom"]
    seen.page.get_by_role("button", name="Zoom out").click()
    seen.page.get_by_role("button", name="Zoom out").click()
    assert nearer > whole["zoom"] > seen.state("view")["zoom"]
    seen.page.get_by_role("button", name="Show all").click()
    seen.rest()
    assert seen.state("view") == pytest.approx(whole)


@pytest.mark.parametrize("width", [1280, 390])
def test_no_button_lies_on_the_map(opened: Open, address: str, width: int) -> None:
    seen = opened(address, viewport={"width": width, "height": 844})
    under = """() => {
        const map = document.querySelector("#viewer canvas").getBoundingClientRect();
        const boxes = [...document.querySelectorAll("#viewer button")].map((b) => b.getBoundingClientRect());
        const beside = (b) => b.right <= map.left || b.left >= map.right;
        return boxes.filter((b) => !(beside(b) || b.bottom <= map.top || b.top >= map.bottom)).length;
    }"""
    assert seen.page.evaluate(under) == 0


def test_keys_move_the_map_and_tell_what_is_in_its_middle(seen: Seen) -> None:
    seen.page.locator("#viewer canvas").focus()
    for key in ("+", "+", "ArrowLeft"):
        seen.page.keyboard.press(key)
    seen.rest()
    view = seen.state("view")
    assert seen.shown("place") == f"{view['x']:.3f}, {view['y']:.3f} mm"
    seen.page.keyboard.press("ArrowRight")
    assert seen.state("view")["x"] > view["x"]
    seen.page.keyboard.press("0")
    assert seen.state("view")["zoom"] < view["zoom"]


def test_the_scale_is_as_long_as_it_says(seen: Seen) -> None:
    for _ in range(3):
        rule = seen.page.locator(".rule")
        value, unit = rule.inner_text().split()
        long = rule.evaluate("one => one.clientWidth")
        mm = float(value) * {"mm": 1, "µm": 1e-3}[unit]
        assert long == pytest.approx(mm * seen.state("view")["zoom"], abs=1.5)
        seen.page.get_by_role("button", name="Zoom in").click()
        seen.rest()


# What is there


def test_pointing_shows_the_dose_and_the_design(job: Job, seen: Seen) -> None:
    made, critical = job.report.executed, job.process.resin.critical_dose
    for (x, y), expected in (((1.4, 3.3), "yes"), ((5.15, 2.5), "no")):
        seen.point(x, y)
        shown = [float(part) for part in seen.shown("place").removesuffix(" mm").split(", ")]
        assert shown == pytest.approx([x, y], abs=0.02)
        row, column = made.grid.to_pixels(shown)[::-1]
        dose = map_coordinates(made.dose, [[row], [column]], order=3)[0]
        times, energy = (float(part.split()[0]) for part in seen.shown("dose").split(", "))
        assert times == pytest.approx(max(0, dose / critical), abs=6e-3)
        assert energy == pytest.approx(max(0, 100 * dose), abs=0.3)
        assert seen.shown("wanted").startswith(expected)
        assert seen.shown("state") == ("cures" if dose > critical else "does not cure")


def test_pointing_shows_the_error_of_the_nearest_edge_and_the_nearest_line(job: Job, seen: Seen) -> None:
    edges = job.report.executed.edges
    k = int(np.argmax(edges.xy[:, 0] < 1.01))
    seen.point(*edges.xy[k])
    shown = [float(part) for part in seen.shown("place").removesuffix(" mm").split(", ")]
    nearest = int(np.argmin(np.hypot(*(edges.xy - shown).T)))
    number, unit = seen.shown("error").split(",")[0].replace("−", "-").split()
    assert unit == "µm"
    assert float(number) == pytest.approx(1000 * edges.epe[nearest], abs=0.11)
    mw, speed = float(seen.shown("line").split()[0]), float(seen.shown("line").split()[3])
    path = job.toolpath
    assert 0 < mw <= path.power.max() * 1.01
    assert 0 < speed <= path.speed.max() * 1.01
    when = float(seen.shown("when").removeprefix("at ").split()[0])
    run = MachineProgram.of(path, job.process).run
    assert math.dist(run.at([when])[0, :2], shown) < 0.4


def test_a_worst_place_is_flown_to(job: Job, seen: Seen) -> None:
    whole = seen.state("view")["zoom"]
    first = seen.page.locator("[data-place]").first
    first.click()
    seen.rest()
    view = seen.state("view")
    rows = seen.page.locator("#places tbody tr").first.locator("td").all_text_contents()
    assert (view["x"], view["y"]) == pytest.approx((float(rows[1]), float(rows[2])), abs=1e-3)
    assert view["zoom"] > 2 * whole
    assert first.get_attribute("aria-current") == "true"
    assert seen.shown("place") == f"{view['x']:.3f}, {view['y']:.3f} mm"


def test_a_number_on_the_map_is_its_place(seen: Seen) -> None:
    rows = seen.page.locator("#places tbody tr").nth(2).locator("td").all_text_contents()
    seen.page.mouse.click(*seen.at(float(rows[1]), float(rows[2])))
    seen.rest()
    assert seen.state("place") == 2


# The laser


def slide(seen: Seen, part: float) -> None:
    seen.page.locator("[name=time]").evaluate(
        "(slider, part) => { slider.value = part * slider.max; slider.dispatchEvent(new Event('input')) }",
        part,
    )


def test_the_slider_moves_the_laser_as_the_controller_does(job: Job, seen: Seen) -> None:
    run = MachineProgram.of(job.toolpath, job.process).run
    assert seen.state("total") == pytest.approx(run.write_time, abs=1e-4)
    pictures = set()
    for part in (0.11, 0.5, 0.83):
        slide(seen, part)
        now, place = seen.state("time"), seen.state("position")
        assert now == pytest.approx(part * run.write_time, rel=0.01)
        assert (place["x"], place["y"]) == pytest.approx(run.at([now])[0, :2].tolist(), abs=2e-3)
        piece = min(int(np.searchsorted(run.end, now, side="right")), len(run) - 1)
        assert place["power"] == pytest.approx(run.light[piece] * job.process.machine.power_max, rel=0.01)
        pictures.add(seen.picture())
    assert len(pictures) == 3


def pixels(picture: bytes) -> np.ndarray:
    """(rows, columns, 3) 0 to 255."""
    return np.asarray(Image.open(io.BytesIO(picture)).convert("RGB")).astype(int)


def shares(seen: Seen, *colours: str) -> list[float]:
    """The shares of the map in exactly these colours."""
    image = pixels(seen.picture())
    return [float((image == ImageColor.getrgb(colour)).all(axis=2).mean()) for colour in colours]


def test_the_cured_area_grows_with_the_time_and_ends_as_the_measured_one(job: Job, seen: Seen) -> None:
    made = job.report.executed
    measured = (made.dose >= job.process.resin.critical_dose).sum() * made.grid.pixel_area
    end, last = seen.picture(), seen.state("cured")
    assert last == pytest.approx(measured, rel=2e-3)
    areas, filled = [], []
    for part in (0.0, 0.1, 0.3, 0.31, 0.6, 0.9, 0.999, 1.0):
        slide(seen, part)
        right, missing = shares(seen, "#b9c4cc", "#0072b2")
        assert (missing > 0) == (part == 1.0), "nothing is missing before the end"
        areas.append(seen.state("cured"))
        filled.append(right)
    assert areas[0] == filled[0] == 0
    assert areas == sorted(areas) and filled == sorted(filled)
    assert 0.2 * last < areas[2] < areas[4] < 0.9 * last
    assert areas[-1] == last
    assert np.abs(pixels(seen.picture()) - pixels(end)).max() < 8, "but for the smoothing of letters"
    assert "missing" in seen.page.locator(".key").inner_text()
    slide(seen, 0.3)
    assert seen.state("cured") == pytest.approx(areas[2], rel=1e-3), "back in time"
    assert "missing" not in seen.page.locator(".key").inner_text()


def test_what_is_cured_is_where_the_laser_was(job: Job, seen: Seen) -> None:
    """Of the places that cure in the end, those near what is written already, and no others."""
    slide(seen, 0.4)
    run, now = MachineProgram.of(job.toolpath, job.process).run, seen.state("time")
    times = np.linspace(0, run.write_time, 4000, endpoint=False)
    lit = run.light[np.searchsorted(run.end, times, side="right")] > 0
    there = run.at(times)[:, :2]
    written, later = (cKDTree(there[lit & early]) for early in (times < now, times > now))
    at = np.random.default_rng(2).uniform((1.2, 1.2), (3.4, 3.8), (1000, 2))
    at = at[shapely.contains_xy(job.design.area, *at.T)]
    before, after = (some.query(at)[0] for some in (written, later))
    for overlay in ("places", "outline"):
        seen.page.locator(f"[data-show={overlay}]").uncheck()
    for layer in ("cure", "dose"):
        seen.layer(layer)
        image = pixels(seen.picture())
        view, size = seen.state("view"), np.array(image.shape[1::-1])
        column, row = ((at - (view["x"], view["y"])) * (1, -1) * view["zoom"] + size / 2).astype(int).T
        off = np.abs(image[row, column] - image[2, 2]).max(axis=1)
        assert (before > 0.25).sum() > 30 < (before < 0.03).sum()
        assert off[before > 0.25].max() < 12
        assert off[(before < 0.03) & (after > 0.1)].min() > 12


def test_a_dark_screen_has_a_dark_map(opened: Open, address: str) -> None:
    seen = opened(address, color_scheme="dark")
    seen.page.locator("[data-show=error]").check()
    seen.page.locator("[data-show=path]").check()
    for layer in ("cure", "dose", "design"):
        seen.layer(layer)
        image = np.asarray(Image.open(io.BytesIO(seen.picture())).convert("L"))
        assert image[2:-2, 2:-2].mean() < 110, layer
        assert image[5, 5] < 60 and (image > 200).mean() < 0.2, layer
        assert (image > 200).any(), "outline and numbers are light"
    dark = seen.picture()
    seen.page.emulate_media(color_scheme="light")
    seen.rest()
    light = np.asarray(Image.open(io.BytesIO(seen.picture())).convert("L"))
    assert seen.picture() != dark and light[5, 5] == 255
    assert seen.wrong == []


def test_keys_on_the_slider_move_the_laser(seen: Seen) -> None:
    seen.page.locator("[name=time]").focus()
    before = seen.state("time")
    seen.page.keyboard.press("ArrowLeft")
    assert seen.state("time") < before
    text = seen.page.locator("[name=time]").get_attribute("aria-valuetext")
    assert " of " in text


def test_it_plays_pauses_and_ends(seen: Seen) -> None:
    before = seen.state("cured")
    seen.page.select_option("[name=rate]", "1")
    seen.page.get_by_role("button", name="Play").click()
    seen.until("window.laserpath.time > 0.05")
    assert seen.state("cured") < before
    seen.page.get_by_role("button", name="Pause").click()
    stood = seen.state("time")
    seen.rest()
    assert seen.state("time") == stood < seen.state("total")
    seen.page.select_option("[name=rate]", "1000")
    seen.page.get_by_role("button", name="Play").click()
    seen.until("!window.laserpath.playing")
    assert seen.state("time") == seen.state("total")


def test_ten_times_the_rate_is_ten_times_as_fast(seen: Seen) -> None:
    passed = []
    for rate in ("0.1", "1"):
        seen.page.select_option("[name=rate]", rate)
        slide(seen, 0.0)
        passed.append(
            seen.page.evaluate(
                """() => new Promise((done) => {
                    document.querySelector(".play").click();
                    let frames = 0, first = null, since = 0;
                    const tick = (now) => {
                        if (++frames === 5) [first, since] = [window.laserpath.time, now];
                        if (now - since < 400 || frames < 5) return requestAnimationFrame(tick);
                        const gone = (window.laserpath.time - first) / (now - since) * 1000;
                        document.querySelector(".play").click();
                        done(gone);
                    };
                    requestAnimationFrame(tick);
                })"""
            )
        )
    # A frame that takes longer than a tenth of a second stops the clock, so it may be slow, never fast.
    assert 0.02 < passed[0] <= 0.13
    assert 4 < passed[1] / passed[0] < 16


@pytest.mark.parametrize("seconds", [0.3, 2.0, 45.0, 1800.0, 80_000.0])
def test_every_program_plays_in_a_sensible_time(opened: Open, job: Job, folder: Path, seconds: float) -> None:
    """Its laser is as slow or fast as that takes; the rate that it plays at is shown."""
    slower = seconds / MachineProgram.of(job.toolpath, job.process).run.write_time
    path = replace(job.toolpath, speed=job.toolpath.speed / slower)
    seen = opened(saved(render(replace(job, toolpath=path)), folder, f"lasts{seconds:g}"))
    total, rate = seen.state("total"), seen.page.locator("[name=rate]")
    assert 8 <= total / float(rate.input_value()) <= 20
    shown = rate.evaluate("one => one.selectedOptions[0].textContent")
    assert shown == f"× {rate.input_value()}"


# Other screens, paper, no script


@pytest.mark.parametrize("width", [390, 320])
def test_nothing_is_wider_than_a_phone(opened: Open, address: str, width: int) -> None:
    seen = opened(address, **{**PHONE, "viewport": {"width": width, "height": 844}})
    seen.page.locator("details").evaluate_all("all => all.forEach((one) => (one.open = true))")
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


BROKEN = """() => {
    const found = [], range = document.createRange();
    for (const cell of document.querySelectorAll("td, th")) {
        if (!cell.checkVisibility()) continue;
        const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
        for (let node; (node = walk.nextNode());) {
            for (const { index, 0: word } of node.data.matchAll(/[^\\s_/\\\\\u2010-]+/g)) {
                range.setStart(node, index), range.setEnd(node, index + word.length);
                const lines = new Set([...range.getClientRects()].map((r) => Math.round(r.top)));
                if (lines.size > 1) found.push(word);
            }
        }
    }
    return found;
}"""


@pytest.mark.parametrize("width", [360, 768, 820, 1080, 1280])
def test_no_word_in_a_table_is_broken(opened: Open, address: str, width: int) -> None:
    seen = opened(address, viewport={"width": width, "height": 800})
    seen.page.locator("details").evaluate_all("all => all.forEach((one) => (one.open = true))")
    assert seen.page.evaluate(BROKEN) == []
    assert seen.page.locator("td").filter(has_text="negative").first.is_visible()
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.fixture(scope="module")
def others(job: Job, folder: Path) -> list[str]:
    """The pages without a viewer: a comparison of two programs, and the colours of a drawing."""
    long = "a_program_with_a_very_long_name.gcode"
    program = MachineProgram.written(job.toolpath, job.process).text
    compared = compare([program, program], job.process, design=job.design, names=["ours.gcode", long])
    hull = job.design.area.convex_hull
    data = [
        replace(job.page_data, design=replace(job.design, part=Part("plate", k + 1, name, colour, hull)))
        for k, (name, colour) in enumerate((("red", "#ff0000"), ("blue", "#0000ff")))
    ]
    colours = report.render_colours("plate", [(one, job.run) for one in data])
    return [saved(compared.page(), folder, "compared"), saved(colours, folder, "colours")]


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_pages_without_a_viewer_fit_every_screen_too(opened: Open, others: list[str], width: int) -> None:
    for address in others:
        context = {"viewport": {"width": width, "height": 800}, "color_scheme": "dark"}
        seen = opened(address, ready=False, **context)
        assert seen.page.evaluate(BROKEN) == []
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
        assert seen.page.locator("td").filter(has_text="negative").first.is_visible(), "nothing is folded"
        assert seen.page.locator("script").count() == 0 and seen.wrong == []
        filters = seen.page.locator("figure img").evaluate_all(
            "all => all.map((one) => getComputedStyle(one).filter)"
        )
        assert filters and "none" not in filters, "no picture glares"


def test_the_last_tables_are_folded_and_open_on_paper(seen: Seen) -> None:
    folded = seen.page.locator("details.fold")
    assert folded.count() >= 4
    assert not seen.page.locator("#places").is_visible() and not seen.page.locator(".records").is_visible()
    seen.page.evaluate(
        """addEventListener("beforeprint", () => {
             window.printed = document.querySelectorAll("details[open]").length;
           })"""
    )
    seen.page.pdf()
    assert seen.page.evaluate("window.printed") == seen.page.locator("details").count()
    assert seen.page.locator("details[open]").count() == 0


def test_fingers_tap_pinch_and_pan(opened: Open, address: str) -> None:
    seen = opened(address, **PHONE)
    seen.page.locator("#viewer canvas").scroll_into_view_if_needed()
    seen.rest()
    canvas = seen.page.locator("#viewer canvas")
    assert canvas.evaluate("one => one.style.touchAction") == "pan-y"  # the page can be scrolled past it
    left, top = seen.at(1.3, 3.7)
    seen.page.touchscreen.tap(left, top)
    assert seen.shown("wanted").startswith("yes")
    before, fingers = seen.state("view")["zoom"], seen.context.new_cdp_session(seen.page)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        touched = [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(points)]
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touched})

    x, y = seen.at(3.0, 2.5)
    touch("touchStart", (x - 20, y), (x + 20, y))
    for spread in (30, 45, 60):
        touch("touchMove", (x - spread, y), (x + spread, y))
    touch("touchEnd")
    seen.rest()
    assert seen.state("view")["zoom"] == pytest.approx(3 * before, rel=0.1)
    assert math.dist(seen.at(3.0, 2.5), (x, y)) < 3
    assert canvas.evaluate("one => one.style.touchAction") == "none"
    assert seen.wrong == []


def test_on_paper_there_are_pictures_instead(opened: Open, address: str) -> None:
    seen = opened(address)
    seen.page.emulate_media(media="print")
    assert not seen.page.locator("#viewer").is_visible()
    maps = seen.page.locator("figure.map img").all()
    assert len(maps) == 4
    assert all(one.is_visible() for one in maps)
    assert len(seen.page.pdf()) > 100_000


@pytest.mark.parametrize(
    ("context", "before"),
    [({"java_script_enabled": False}, ""), ({}, "delete window.DecompressionStream")],
    ids=["no script", "an old browser"],
)
def test_without_the_viewer_there_are_pictures(
    opened: Open, address: str, context: dict[str, Any], before: str
) -> None:
    seen = opened(address, ready=False, before=before, **context)
    if before:
        seen.until("window.laserpath")
    assert not seen.page.locator("#viewer").is_visible()
    assert all(one.is_visible() for one in seen.page.locator("figure.map img").all())


def test_who_wants_less_motion_is_there_at_once(opened: Open, address: str) -> None:
    seen = opened(address, reduced_motion="reduce")
    before = seen.state("view")["zoom"]
    assert (
        seen.page.evaluate("document.querySelector('[data-place]').click(), window.laserpath.view.zoom")
        > 2 * before
    )


# Other pages


def test_hostile_names_do_nothing(opened: Open, job: Job, folder: Path) -> None:
    name = "</script><script>window.laserpath = {hacked: true}; alert(1)</script>"
    html = render(job, name, (name,), name)
    seen = opened(saved(html, folder, "hostile"))
    assert seen.wrong == []
    assert not seen.page.evaluate("'hacked' in window.laserpath")
    assert seen.page.locator("h1").inner_text() == name


def test_a_program_without_a_design_is_shown_too(opened: Open, job: Job, folder: Path) -> None:
    made = job.report.executed
    shown = ShownProgram(job.toolpath, job.run, made.grid, made.dose, job.process)
    html = report.render_exposure(shown, PageText("board.gcode", warnings=("line 3 was not understood",)))
    seen = opened(saved(html, folder, "alone"))
    seen.page.locator("#viewer canvas").scroll_into_view_if_needed()
    seen.point(1.4, 3.3)
    assert seen.shown("state") == "cures"
    assert seen.page.locator("[data-tell=wanted], [data-tell=error], #places, #figures").count() == 0
    seen.layer("dose")
    slide(seen, 0.4)
    seen.rest()
    assert seen.wrong == []
    assert "line 3 was not understood" in seen.page.inner_text("main")


def test_a_program_is_judged_by_its_design(opened: Open, job: Job, folder: Path) -> None:
    """With too little dose it says how much more would be right."""
    made = job.report.executed
    shown = job.page_data.exposed(job.run)
    html = report.render_exposure(
        shown,
        PageText(
            "plate.gcode",
            answers=(("Who wrote it", "Another tool."),),
            columns=(Column("other", "as executed", made.as_dict()),),
        ),
        made,
    )
    seen = opened(saved(html, folder, "judged"))
    assert seen.page.locator("#figures thead th").count() == 3
    text = seen.page.inner_text("main")
    assert "Another tool." in text
    assert "--iterations" not in text
    assert "--pitch" not in text


def test_a_positive_resist_is_cleared(opened: Open, folder: Path) -> None:
    design = Design(shapely.MultiPolygon([shapely.box(0, 0, 1, 1)]), "window")
    job = make_job(design, Process(resin=Resin(tone="positive")))
    seen = opened(saved(render(job), folder, "window"))
    seen.page.locator("#viewer canvas").scroll_into_view_if_needed()
    seen.point(0.5, 0.5)
    assert seen.shown("state") == "clears"
    assert "cures" not in seen.page.locator(".key").inner_text()


def test_a_dense_five_millimetre_design_fits_the_budget(opened: Open, folder: Path) -> None:
    """Lines as wide as their gaps all over 5 mm, and the limit's picture too."""
    bars = [shapely.box(x, 0, x + 0.15, 5) for x in np.arange(0, 4.9, 0.3)]
    job = make_job(Design(shapely.MultiPolygon(bars), "grating"))
    job = replace(job, report=replace(job.report, limit=blurred_limit(job.design, job.process)))
    html = render(job)
    assert len(html.encode()) < MOST
    assert "thinned" not in html
    seen = opened(saved(html, folder, "grating"))
    assert seen.wrong == []


def test_the_report_of_a_real_plan(opened: Open, tmp_path: Path) -> None:
    """From the drawing to the page: gratings of 5 mm at a spot of 0.1 mm, as the command line plans them."""
    plan = laserpath.plan(Path(__file__).parents[2] / "samples" / "grating.svg")
    (page,) = (path for path in plan.write(tmp_path) if path.name.endswith(".html"))
    assert page.stat().st_size < MOST
    seen = opened(page.as_uri())
    assert seen.wrong == []
    # A line of unusual length on a slow link moves the clock a little, if the page lacks it.
    assert seen.state("total") == pytest.approx(plan.report.executed.motion.write_time, rel=0.02)
