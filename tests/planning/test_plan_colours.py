"""A plan for each colour of a drawing: in register, and written together or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import shapely

import laserpath
from laserpath import ColourPlans, Design, Part, Process, Resin, Settings, Spot
from laserpath.base.errors import InputError
from laserpath.config import project, request
from laserpath.design import load_colours
from laserpath.planning import adding_doses, check_joined

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="4mm" height="3mm" viewBox="0 0 4 3">'
    '<rect x="0.5" y="0.5" width="1" height="1" fill="red"/>'
    '<rect x="2.2" y="1.7" width="0.8" height="0.8" fill="blue"/></svg>'
)
RED, BLUE = shapely.box(0.5, 1.5, 1.5, 2.5), shapely.box(2.2, 0.5, 3.0, 1.3)
SETTINGS = Settings(iterations=4, initial="contour", origin="design", offset=(10.0, 5.0), report="brief")
NAMES = [
    *(
        f"two-{part}.{end}"
        for part in ("1-red", "2-blue")
        for end in ("gcode", "report.html", "toolpath.svg")
    ),
    "two.colours.html",
]


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> ColourPlans:
    path = tmp_path_factory.mktemp("two") / "two.svg"
    path.write_text(SVG)
    parts = load_colours(path, 2, tolerance=0.002)
    process = Process(spot=Spot(fwhm=0.1))
    resin = replace(process.resin, name="blue resin", critical_dose=2 * process.resin.critical_dose)
    return laserpath.plan_colours(parts, [process, replace(process, resin=resin)], SETTINGS)


def test_what_cures_is_the_drawing_with_its_lower_left_corner_at_the_offset(plans: ColourPlans) -> None:
    for one, box in zip(plans.plans, (RED, BLUE), strict=True):
        x, y = one.toolpath.xy[:-1][one.toolpath.on].mean(axis=0)
        centre = box.centroid
        assert (x, y) == pytest.approx((centre.x - 0.5 + 10, centre.y - 0.5 + 5), abs=0.05)
        assert one.report.executed.figures.iou > 0.9


def test_each_resin_gets_its_own_dose(plans: ColourPlans) -> None:
    per_area = [
        float((one.report.executed.dose.sum() * one.report.executed.grid.pixel_area) / one.design.area.area)
        for one in plans.plans
    ]
    assert per_area[1] / per_area[0] == pytest.approx(2, rel=0.15)


@pytest.mark.slow
def test_all_files_are_written_or_none(plans: ColourPlans, tmp_path: Path) -> None:
    (tmp_path / "two-2-blue.report.html").mkdir()
    with pytest.raises(InputError, match="it is a folder"):
        plans.write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["two-2-blue.report.html"]
    (tmp_path / "two-2-blue.report.html").rmdir()
    assert sorted(path.name for path in plans.write(tmp_path, frame=True)) == sorted(
        [*NAMES, "two.frame.gcode"]
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*NAMES, "two.frame.gcode"])


def test_the_frame_is_around_the_whole_drawing(plans: ColourPlans, tmp_path: Path) -> None:
    plans.write(tmp_path, frame=True)
    assert "x 10.000 to 12.500 mm, y 5.000 to 7.000 mm" in (tmp_path / "two.frame.gcode").read_text()


def test_the_page_shows_all_together(plans: ColourPlans, tmp_path: Path) -> None:
    plans.write(tmp_path)
    page = (tmp_path / "two.colours.html").read_text()
    for text in (
        "two-1-red.report.html",
        "two-2-blue.gcode",
        "#ff0000",
        "blue resin, 40 mJ/cm²",
        "<td>20<wbr> <wbr>mJ/<wbr>cm²;<wbr> <wbr>40<wbr> <wbr>mJ/<wbr>cm²</td>",
        "Values that differ",
        "2 colours",
        "2.5 × 2 mm",
    ):
        assert text in page
    assert "http" not in page.replace("http-equiv", "").split("<main>")[0]


def test_a_head_has_the_project_of_its_colour(plans: ColourPlans, tmp_path: Path) -> None:
    file = tmp_path / project.NAME
    file.write_text(plans.plans[1].project)
    values = project.load(file).values
    assert (values["colours"], values["colour"]) == (2, "2")
    assert values["resin"]["name"] == "blue resin"


@pytest.mark.slow
def test_a_project_of_all_has_the_resin_and_the_settings_of_each(plans: ColourPlans, tmp_path: Path) -> None:
    red, blue = plans.plans
    finer = replace(blue, settings=replace(blue.settings, passes=3, quality="fine"))
    replace(plans, plans=(finer, red)).write(tmp_path, project=True)
    values = project.load(tmp_path / project.NAME).values
    again = request.planned_parts(
        values, request.process_of(values), request.settings_of(values, 0.1), [red.design, blue.design]
    )
    assert [one.design.name for one in again] == ["two-2-blue", "two-1-red"]
    assert [one.process for one in again] == [blue.process, red.process]
    assert [one.settings for one in again] == [finer.settings, red.settings]
    replace(plans, plans=(red,)).write(tmp_path, project=True)
    values = project.load(tmp_path / project.NAME).values
    assert (values["colours"], "colour" in values) == (2, False)
    assert [one.name for one in values["layers"]] == ["1"]


def test_programs_that_would_not_be_in_register_are_refused(plans: ColourPlans) -> None:
    red, blue = (one.design for one in plans.plans)
    process = Process(spot=Spot(fwhm=0.1))
    with pytest.raises(InputError, match="must have one tone"):
        laserpath.plan_colours([red, blue], [process, replace(process, resin=Resin(tone="positive"))])
    with pytest.raises(InputError, match="may differ in their resins alone"):
        laserpath.plan_colours([red, blue], [process, Process(spot=Spot(fwhm=0.2))])
    with pytest.raises(InputError, match="one origin and one offset"):
        laserpath.plan_colours([red, blue], process, [SETTINGS, replace(SETTINGS, offset=(0.0, 0.0))])
    with pytest.raises(InputError, match="2 processes for 1 colours"):
        laserpath.plan_colours([red], [process, process])
    with pytest.raises(InputError, match="is not one colour or layer of a drawing"):
        laserpath.plan_colours([replace(red, part=None)])
    with pytest.raises(InputError, match="no colours or layers to plan"):
        laserpath.plan_colours([])


def test_layers_in_one_resin_whose_doses_add_up_are_named() -> None:
    """Those nearer than the spot, 0.1 mm, and those that overlap; not if they have resins of their own."""
    hull = shapely.box(0, 0, 9, 1)

    def layer(number: int, x: float) -> Design:
        part = Part("panel", number, f"l{number}", "#000000", hull, "layer")
        return Design(shapely.box(x, 0, x + 1, 1), f"panel-l{number}", part=part)

    each = [layer(1, 0.0), layer(2, 1.05), layer(3, 2.0), layer(4, 5.0)]
    process = Process(spot=Spot(fwhm=0.1))
    near, overlap = adding_doses(each, [process] * 4)
    assert near.startswith("layers 'l1' and 'l2' come nearer than the spot is wide: their doses add up")
    assert overlap.startswith("layers 'l2' and 'l3' overlap, on 0.05 mm²")
    other = replace(process, resin=replace(process.resin, name="other"))
    assert adding_doses(each, [process, other, process, process]) == ()


def test_one_resin_may_have_several_doses_but_nothing_else() -> None:
    """A name alone does not make two resins one: profiles are copied and edited."""
    process = Process(spot=Spot(fwhm=0.1))
    resin = process.resin
    stronger = replace(process, resin=replace(resin, critical_dose=1.5 * resin.critical_dose))
    check_joined([process, stronger])
    deep = replace(process, resin=replace(resin, e_c=0.1, penetration_depth=0.2))
    with pytest.raises(InputError) as error:
        check_joined([process, stronger, deep])
    assert str(error.value) == (
        f"one program cannot change the resin from {resin.name} to another {resin.name} (they differ in "
        "their e_c): leave --joined out"
    )
    with pytest.raises(InputError, match=f"from {resin.name} to blue: leave"):
        check_joined([process, replace(process, resin=replace(resin, name="blue"))])
