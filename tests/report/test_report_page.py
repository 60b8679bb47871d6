"""The HTML report: whole, safe, and with the numbers of the figures."""

from __future__ import annotations

import re
import threading
from dataclasses import fields, replace
from html.parser import HTMLParser
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import pytest
import shapely
from exposures import Job, make_job
from sets import one_fast

from laserpath.report import PageText, render
from laserpath.report.figure_table import GROUPS
from laserpath.report.wording import area, duration, number
from laserpath.types import Design, Process, Resin, Settings, Toolpath
from laserpath.types.results import MotionFigures, PrintFigures

VOID = {"meta", "link", "img", "br", "hr", "input", "wbr"}


class Reader(HTMLParser):
    """Tags are nested rightly; collects elements, and the text of each table cell by table."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: dict[str, list[list[str]]] = {}
        self.table = ""
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.table = dict(attrs).get("id") or "other"
            self.rows.setdefault(self.table, [])
        elif tag == "tr":
            self.rows[self.table].append([])
        elif tag in ("td", "th"):
            self.rows[self.table][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if {"td", "th"} & set(self.open):
            self.rows[self.table][-1][-1] += data


SHOWN = [row for _, rows in GROUPS for row in rows]

HEADER = ("laserpath 1.2.3", "spot 0.1 mm")


def html_of(job: Job, name: str = "", header: tuple[str, ...] = HEADER) -> str:
    return render(job.page_data, PageText(name or job.design.name, header=header), job.run)


def brief(job: Job, name: str = "") -> str:
    """The page without pictures."""
    text = PageText(name or job.design.name, header=(name,), illustrated=False)
    return render(job.page_data, text, job.run)


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def html(job: Job) -> str:
    return html_of(job)


@pytest.fixture(scope="module")
def page(html: str) -> Reader:
    return read(html)


def scripts(page: Reader) -> list[dict[str, str | None]]:
    return [attributes for tag, attributes in page.tags if tag == "script"]


SCRIPTS = [{"type": "application/json", "id": "payload"}, {}]
"""The viewer's numbers, and the viewer."""


def test_nothing_is_fetched(html: str, page: Reader) -> None:
    words = re.sub(r'data:image/svg\+xml,[^"]*|<script type="application/json".*?</script>', "", html)
    assert not re.search(r"https?:|//[a-z]|@import|url\(|fetch\(|XMLHttp|import\(", words)
    assert not {"link", "iframe", "object"} & {tag for tag, _ in page.tags}
    assert all((a.get("src") or "data:").startswith("data:") for _, a in page.tags)
    assert scripts(page) == SCRIPTS


def test_the_page_forbids_the_browser_to_fetch_anything(page: Reader) -> None:
    (policy,) = (a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    directives = dict(part.strip().split(" ", 1) for part in (policy or "").split(";"))
    assert directives == {
        "default-src": "'none'", "img-src": "data:",
        "style-src": "'unsafe-inline'", "script-src": "'unsafe-inline'",
    }  # fmt: skip


def test_pictures_are_svg_with_a_text_for_who_cannot_see_them(page: Reader) -> None:
    images = [a for tag, a in page.tags if tag == "img"]
    assert len(images) == 11
    for image in images:
        head, _, data = (image["src"] or "").partition(",")
        assert head == "data:image/svg+xml"
        drawn = ElementTree.fromstring(unquote(data))
        assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
        assert all(one.get("href", "data:").startswith("data:") for one in drawn.iter())
        assert image["alt"]


def test_table_has_every_figure_of_each_column(job: Job, page: Reader) -> None:
    figures = {field.name for record in (PrintFigures, MotionFigures) for field in fields(record)}
    assert {row.key for row in SHOWN} == figures
    table = {row[0].split("\n")[0].strip(): row[1:] for row in page.rows["figures"] if len(row) == 4}
    assert job.report.commanded
    columns = [job.report.executed, job.report.start, job.report.commanded]
    for row in SHOWN:
        texts = [row.text(c.as_dict()) for c in columns]
        words = [len(text.split()) for text in texts]  # areas have their units with them
        written = [" ".join(c.split()[:n]) for c, n in zip(table[row.label], words, strict=True)]
        assert written == texts


def test_every_row_is_explained(page: Reader) -> None:
    titles = {a["title"] for tag, a in page.tags if tag == "abbr"}
    assert titles == {row.meaning for row in SHOWN}
    assert all(row.meaning in page.text for row in SHOWN)


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a & b", "\x07\udcff"]
)
def test_hostile_names_are_only_text(job: Job, name: str) -> None:
    warned = replace(job, report=replace(job.report, warnings=(f"element {name} was not understood",)))
    html = brief(warned, name)
    html.encode("utf-8")
    page = read(html)
    assert scripts(page) == SCRIPTS
    assert not any("onerror" in a for _, a in page.tags)
    if name.isprintable():
        assert page.text.count(name) >= 3


def test_warnings_come_first(job: Job, page: Reader) -> None:
    text = page.text
    assert (
        text.index(job.report.warnings[0])
        < text.index("What will cure")
        < text.index("Points without an edge")
    )


def test_worst_places_are_listed_worst_first_with_a_reason(page: Reader) -> None:
    rows = page.rows["places"][1:]
    errors = [abs(float(re.sub(r"[^\d.]", "", r[3]))) for r in rows]
    assert errors == sorted(errors, reverse=True)
    reasons = " ".join(r[5] for r in rows)
    assert "gap narrower than the spot, 60 µm" in reasons
    assert "feature narrower than the spot, 50 µm" in reasons


def test_verdict_says_time_and_what_to_change(job: Job, page: Reader) -> None:
    text = page.text.replace("\u00a0", " ")
    assert duration(job.report.executed.motion.write_time) + " to write" in text
    assert "widen them, or focus to a smaller spot" in text
    assert "This will not print as drawn" in text


def test_settings_to_plan_again_are_all_there(job: Job, page: Reader) -> None:
    records = {row[0]: row[1] for row in page.rows["other"]}
    for part in (job.settings, job.process.spot, job.process.resin, job.process.machine):
        other = {"square_corner_velocity", "minimum_cruise_ratio", "shapers"}  # Klipper's
        assert {f.name for f in fields(part)} - other <= set(records)
    assert not other & set(records)
    shown = {
        name: records[name] for name in ("segment_fwhm", "acceleration", "speed_max", "critical_dose", "size")
    }
    assert shown == {
        "segment_fwhm": "1 FWHM", "acceleration": "500 × 500 mm/s²", "speed_max": "3000 × 3000 mm/min",
        "critical_dose": "20 mJ/cm²", "size": "300 × 200 mm",
    }, "as profiles and --help have them"  # fmt: skip
    assert "laserpath 1.2.3" in page.text


def test_a_missed_tolerance_is_reported(job: Job) -> None:
    text = read(brief(replace(job, settings=Settings(max_epe_fwhm=0.01)))).text
    assert "missed" in text
    assert "met" in read(brief(replace(job, settings=Settings(max_epe_fwhm=3.0)))).text


def test_positive_resists_are_cleared_not_cured() -> None:
    design = Design(shapely.MultiPolygon([shapely.box(0, 0, 1, 1)]), "window")
    text = read(brief(make_job(design, Process(resin=Resin(tone="positive"))))).text
    assert "What will clear" in text
    assert "What will cure" not in text


def test_a_plan_without_iterations_or_light_is_reported(job: Job) -> None:
    dark = Toolpath(np.zeros((1, 2)), np.zeros(0), np.zeros(0))
    page = read(html_of(replace(job, toolpath=dark, loss=np.zeros(0))))
    # Without the loss, and without the powers of what is never on.
    assert len([tag for tag, _ in page.tags if tag == "img"]) == 9


@pytest.mark.slow
def test_the_process_window_is_drawn_and_described(page: Reader) -> None:
    alt = "Edge error against dose, in focus and with a wider spot."
    assert alt in [a["alt"] for tag, a in page.tags if tag == "img"]
    text = page.text.replace("\u00a0", " ")
    assert "How far dose and focus may be off" in text
    assert "At no dose from −20 % to +20 % of the planned one is 95 % of the edge within 15 µm" in text
    assert "Dashed: 0.15 FWHM, what counts as good" in text
    disc = make_job(Design(shapely.MultiPolygon([shapely.Point(0, 0).buffer(1)]), "disc"))
    page_text = read(html_of(replace(disc, settings=Settings(max_epe_fwhm=0.3)))).text.replace("\u00a0", " ")
    assert "95 % of the edge is within 30 µm (0.30 FWHM) while the dose is off by" in page_text
    assert "Dashed: 0.3 FWHM, the tolerance asked for" in page_text


def test_a_report_without_a_process_window_says_nothing_of_one(job: Job) -> None:
    page = read(html_of(replace(job, report=replace(job.report, window=None))))
    assert len([tag for tag, _ in page.tags if tag == "img"]) == 10
    assert "dose and focus" not in page.text


def test_the_quality_is_stated(job: Job) -> None:
    page = read(brief(replace(job, settings=Settings(quality="draft"))))
    assert "draft quality" in page.text
    assert "at draft quality" in page.text
    assert ["quality", "draft"] in page.rows["other"]


@pytest.mark.parametrize("size", one_fast([(15.0, 0.3), (0.3, 15.0), (0.3, 0.3)], (0.3, 15.0)))
def test_strips_and_dots_are_reported(size: tuple[float, float]) -> None:
    design = Design(shapely.MultiPolygon([shapely.box(100, 50, 100 + size[0], 50 + size[1])]), "bar")
    assert len(html_of(make_job(design))) < 3_000_000


@pytest.mark.slow
def test_the_same_bytes_again_and_from_threads(job: Job, html: str) -> None:
    pages: list[str] = []
    threads = [threading.Thread(target=lambda: pages.append(html_of(job))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert pages == [html, html]


def test_a_brief_page_has_all_but_the_pictures(job: Job, page: Reader) -> None:
    short = read(brief(job))
    assert [a for tag, a in short.tags if tag == "img"] == []
    assert "<h2>Pictures" not in brief(job)
    assert short.rows == page.rows
    assert any(a.get("id") == "viewer" for _, a in short.tags)


def test_page_is_small(html: str) -> None:
    assert len(html) < 3_000_000


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (0.06312, "0.0631"), (12.34, "12.3"), (1234.5, "1234"), (2e-9, "<0.0001"),
        (float("nan"), "–"),
    ],
)  # fmt: skip
def test_numbers_are_written_without_exponents(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0 mm²"), (1.1412, "1.14 mm²"), (0.01, "0.0100 mm²"), (1.14e-4, "114 µm²"), (3e-8, "0.0300 µm²")],
)
def test_areas_of_micrometre_designs_are_in_square_micrometres(value: float, text: str) -> None:
    assert area(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.84, "0.840 s"), (31.96, "32.0 s"), (59.97, "1 min 00 s"), (320.4, "5 min 20 s"),
        (7501.0, "2 h 05 min"),
    ],
)  # fmt: skip
def test_durations_are_written_as_people_say_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_the_mark_stands_beside_what_is_executed(job: Job) -> None:
    rows = re.findall(r"<tr><th scope=.*?</tr>", brief(job), re.S)
    marked = {
        column
        for row in rows
        for column, cell in enumerate(re.findall(r"<td.*?</td>", row, re.S), start=1)
        if 'class="trend' in cell
    }
    assert marked == {1}
    assert job.report.commanded
    perfect = replace(job.report.commanded.figures, epe_mean=0.0)
    aimed = replace(job.report, commanded=replace(job.report.commanded, figures=perfect))
    trends = [
        re.findall(r'class="trend (\w+)', page) for page in (brief(job), brief(replace(job, report=aimed)))
    ]
    assert trends[0] == trends[1], "what is aimed at is no figure of quality"


@pytest.mark.parametrize(("dialect", "checked"), [("grbl", True), ("klipper", True), ("linuxcnc", False)])
def test_a_controller_that_was_never_recorded_is_named(job: Job, dialect: str, checked: bool) -> None:
    process = replace(job.process, machine=replace(job.process.machine, dialect=dialect))
    text = " ".join(read(brief(replace(job, process=process))).text.split())
    assert ("executed by a model of the controller." in text) is checked
    assert (f"not validated against recordings of a controller that speaks {dialect}." in text) is not checked
