"""`laserpath compare`: programs side by side, of which a plan is the truest."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import shapely
from builders import design
from commands import Answer, Captured, Refused, run
from test_cli_simulate import SQUARE, hatch, names

import laserpath
from laserpath.base.errors import InputError
from laserpath.simulation import Choices
from laserpath.simulation.comparison import Comparison, compare, headline
from laserpath.types import Settings

DESIGN = design(shapely.box(1, 1, 2, 2), name="square")


@pytest.fixture(scope="module")
def planned() -> str:
    """The G-code of a short plan of the square."""
    settings = Settings(iterations=20, quality="draft", initial="contour", origin="page", report="brief")
    return laserpath.plan(DESIGN, settings=settings).program


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planned: str) -> Path:
    """job.nc, plan.gcode and square.svg in the current folder; the page is drawn by a test of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Comparison, "page", lambda comparison: f"page of {comparison.names}")
    Path("job.nc").write_text(hatch())
    Path("plan.gcode").write_text(planned)
    Path("square.svg").write_text(SQUARE)
    return tmp_path


@pytest.mark.slow
def test_a_plan_has_truer_edges_than_a_hatch(planned: str) -> None:
    comparison = compare([hatch(), planned], design=DESIGN, names=["hatch", "plan"])
    rows = {row.key: row for row in comparison.rows}
    for key in ("epe_mean", "epe_p95", "epe_mean_tuned", "iou"):
        assert [comparison.names[k] for k in rows[key].best] == ["plan"], key
    error = rows["epe_mean"]
    assert error.ratios == pytest.approx((1.0, error.values[1] / error.values[0]))
    assert next(iter(headline(comparison))).startswith("plan has the truer edges: ")


def test_a_program_is_as_good_as_itself(planned: str) -> None:
    comparison = compare([planned, planned], design=DESIGN, names=["a", "b"])
    assert all(row.best == () and row.values[0] == row.values[1] for row in comparison.rows)
    assert next(iter(headline(comparison))).startswith("Their edges are equally true")


def test_the_lower_dose_is_better_and_the_area_alone_is_neither() -> None:
    comparison = compare([hatch(s=300), hatch(s=60), hatch(s=100)], names=["strong", "weak", "middle"])
    rows = {row.key: row for row in comparison.rows}
    assert comparison.design is None
    assert rows["dose_max"].best == (1,)
    assert rows["over_dosed"].best == (1,)
    assert rows["cured"].best == ()
    assert "epe_mean" not in rows


def test_each_program_is_aligned_by_itself() -> None:
    comparison = compare([hatch(), hatch(7, 3)], design=DESIGN, choices=Choices(align=True), names=["a", "b"])
    a, b = (s.shift for s in comparison.simulations)
    assert (a[0] - b[0], a[1] - b[1]) == pytest.approx((7, 3), abs=2e-3)
    first, second = (s.executed.measured for s in comparison.simulations)
    assert first is not None
    assert second is not None
    assert first.figures.iou == pytest.approx(second.figures.iou, abs=0.01)


def test_names_are_short_where_they_tell_files_apart(folder: Path) -> None:
    (folder / "old").mkdir()
    (folder / "old" / "job.nc").write_text(hatch(s=90))
    comparison = compare([Path("job.nc"), Path("old/job.nc"), Path("plan.gcode"), Path("plan.gcode")])
    assert comparison.names == ("job.nc", "old/job.nc", "3: plan.gcode", "4: plan.gcode")


@pytest.mark.slow
def test_it_writes_one_page_and_says_which_is_better(
    folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    before = names(folder)
    assert run("compare", "job.nc", "plan.gcode", "--design", "square.svg", "-o", "out") == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("plan.gcode has the truer edges: ")
    assert "Edge error, mean" in printed.out
    assert "✓" in printed.out
    assert names(folder) == sorted([*before, "out"])
    assert names(folder / "out") == ["square.comparison.html"]
    page = (folder / "out" / "square.comparison.html").read_text()
    assert page.count("data:image/svg+xml,") == 6, "cure and dose of both, the difference, the errors"
    assert not re.search(r'(src|href)="(?!data:|#)', page), "nothing is fetched"
    assert "<script" not in page


def test_a_browser_shows_the_page_without_a_complaint_and_a_phone_all_of_its_width(
    tmp_path: Path, need: Callable[[str], str]
) -> None:
    from playwright import sync_api as api

    (page,) = compare([hatch(), hatch(s=90)], design=DESIGN, names=["a.nc", "b.nc"]).write(tmp_path)
    flags = (
        "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync",
    )  # fmt: skip
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=need("chromium"), args=list(flags))
        shown, messages = browser.new_page(viewport={"width": 390, "height": 800}), []
        shown.on("console", lambda message: messages.append(message.text))
        shown.on("pageerror", lambda error: messages.append(str(error)))
        shown.goto(page.as_uri())
        widths = shown.evaluate("[...document.images].map(image => image.naturalWidth)")
        assert len(widths) == 6
        assert min(widths) > 300
        assert shown.evaluate("document.documentElement.scrollWidth") <= 390
        assert messages == []
        browser.close()


def test_json_has_each_program_and_the_best_of_each_figure(folder: Path, answer: Answer) -> None:
    content = answer("compare", "job.nc", "plan.gcode", "--design", "square.svg")
    assert [p["program"] for p in content["programs"]] == ["job.nc", "plan.gcode"]
    assert content["figures"]["epe_mean"]["best"] == ["plan.gcode"]
    assert content["figures"]["epe_mean"]["better"] == "low"
    assert content["figures"]["epe_mean"]["values"][1] == content["programs"][1]["executed"]["epe_mean"]
    assert content["files"] == ["square.comparison.html"]


@pytest.mark.slow
def test_names_of_the_user_s_cannot_break_the_page() -> None:
    comparison = compare([hatch(), hatch(s=90)], names=["<b>&$x$", "b"])
    page = comparison.page()
    assert "<b>&" not in page
    assert "&lt;b&gt;&amp;$x$" in page


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["job.nc"], "1 program cannot be compared; give two or more"),
        ([], "Missing argument"),
        (["job.nc", "missing.nc"], "cannot be read: No such file"),
        (["job.nc", "dark.nc"], "'dark.nc' exposes nothing"),
        (["job.nc", "plan.gcode", "--design", "missing.svg"], "missing.svg does not exist"),
        (["job.nc", "plan.gcode", "--align"], "--align needs a design"),
        (["job.nc"] * 9, "9 programs cannot be compared; give 2 to 8"),
    ],
)
def test_bad_input_is_a_sentence_exit_code_2_and_no_file(
    folder: Path, refused: Refused, arguments: list[str], words: str
) -> None:
    Path("dark.nc").write_text(hatch(s=0))
    before = names(folder)
    assert words in refused("compare", *arguments)
    assert names(folder) == before


def test_one_program_alone_is_no_comparison() -> None:
    with pytest.raises(InputError, match="1 programs cannot be compared"):
        compare([hatch()])
