"""Parts as meshes: their layers against closed forms, what is mended, what is refused."""

from __future__ import annotations

import io
import math
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import gdstk
import numpy as np
import pytest
import shapely
import trimesh
from PIL import Image
from shapes import NODING

import laserpath
from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import InputError
from laserpath.base.overlay import differing, union
from laserpath.design.part import is_layout, is_stack, load_part, load_stack
from laserpath.design.reading import Reading
from laserpath.design.supports import unprintable, warnings_of
from laserpath.planning import stacked
from laserpath.types import Machine, Process, Resin, Settings, Spot

SIDES = 256
POLYGON = SIDES / (2 * math.pi) * math.sin(2 * math.pi / SIDES)
"""Area of the regular polygon that stands for a circle, in that of the circle."""


def saved(mesh: trimesh.Trimesh, folder: Path, name: str = "part.stl") -> Path:
    path = folder / name
    mesh.export(path)
    return path


def areas(path: Path, layer: float, **more: float) -> Floats:
    return np.array([one.area.area for _, one in load_part(path, layer, **more)])  # type: ignore[arg-type]


@pytest.fixture
def cone(tmp_path: Path) -> Path:
    """Radius 2 mm, height 4 mm, the point above."""
    return saved(trimesh.creation.cone(2, 4, sections=SIDES), tmp_path, "cone.stl")


@pytest.mark.parametrize("suffix", ["stl", "obj", "3mf"])
def test_a_cone_s_layers_are_its_sections_at_the_middle_of_each_layer(suffix: str, tmp_path: Path) -> None:
    """A(z) = π r² (1 − z/H)²; the sum of the layers is its volume but for the square of their thickness."""
    path = saved(trimesh.creation.cone(2, 4, sections=SIDES), tmp_path, f"cone.{suffix}")
    layers = load_part(path, 0.1)
    middles = np.arange(40) * 0.1 + 0.05
    exact = POLYGON * math.pi * 4 * (1 - middles / 4) ** 2
    assert [z for z, _ in layers] == pytest.approx(0.1 * np.arange(1, 41), abs=1e-9)
    assert [one.area.area for _, one in layers] == pytest.approx(exact, abs=2e-3)
    volume = 0.1 * sum(one.area.area for _, one in layers)
    assert volume == pytest.approx(POLYGON * math.pi * 16 / 3, rel=(0.1 / 4) ** 2)


def test_a_washer_has_its_hole_in_each_layer(tmp_path: Path) -> None:
    washer = trimesh.creation.annulus(1, 2, 1, sections=SIDES)
    for _, one in load_part(saved(washer, tmp_path), 0.25):
        (ring,) = one.area.geoms
        assert len(ring.interiors) == 1
        assert ring.area == pytest.approx(POLYGON * math.pi * 3, rel=1e-3)


def test_cavities_are_empty_and_bodies_that_overlap_are_one(tmp_path: Path) -> None:
    hollow = trimesh.creation.box((4, 4, 4))
    cavity = trimesh.creation.box((2, 2, 2))
    cavity.invert()
    inside = trimesh.util.concatenate([hollow, cavity])
    assert areas(saved(inside, tmp_path), 1.0) == pytest.approx([16, 12, 12, 16])
    other = trimesh.creation.box((4, 4, 4))
    other.apply_translation((2, 0, 0))
    both = trimesh.util.concatenate([hollow, other])
    assert areas(saved(both, tmp_path), 1.0) == pytest.approx([24] * 4)
    other.apply_translation((2, 4, 0))  # they share an edge, where four facets meet
    touching = trimesh.util.concatenate([hollow, other])
    assert areas(saved(touching, tmp_path), 1.0) == pytest.approx([32] * 4)


def test_a_plane_through_vertices_and_level_facets_is_cut(tmp_path: Path) -> None:
    """The middle of the second layer is the top of the lower step."""
    low, high = trimesh.creation.box((2, 2, 1.5)), trimesh.creation.box((1, 1, 2))
    low.apply_translation((0, 0, 0.75))
    high.apply_translation((0, 0, 1.0))
    found = areas(saved(trimesh.util.concatenate([low, high]), tmp_path), 1.0)
    assert found[0] == pytest.approx(4)
    assert found[1] in (pytest.approx(1), pytest.approx(4))


def test_where_it_lies_is_kept_but_for_its_height(tmp_path: Path) -> None:
    box = trimesh.creation.box((2, 1, 1))
    box.apply_translation((30, 20, -7))
    ((z, one),) = load_part(saved(box, tmp_path), 1.0)
    assert (z, one.bounds) == (1.0, pytest.approx((29, 19.5, 31, 20.5)))


def test_cuts_are_closer_for_a_resin_that_shrinks_and_the_recipe_has_the_layer_asked_for(
    tmp_path: Path,
) -> None:
    """A program's head has the recipe: with the thickness of the cuts, it would be made thinner twice."""
    process = Process(Spot(0.1), Resin(shrinkage=(0.0, 0.0, 0.09)), Machine())
    layers = load_part(saved(trimesh.creation.box((1, 1, 1)), tmp_path), 0.1, resin=process.resin)
    assert stacked(layers, process, Settings(origin="design")).z == pytest.approx(np.arange(1, 12) * 0.1)
    assert all('layer = ["0.1mm"]' in one.recipe for _, one in layers)
    assert "cut into 11 layers of 0.091 mm" in layers[0][1].source


@pytest.mark.parametrize(("layer", "count"), [(0.1, 10), (0.3, 3), (0.4, 2), (1.0, 1), (0.66, 2)])
def test_the_layers_are_as_high_as_the_part_to_the_nearest_layer(
    layer: float, count: int, tmp_path: Path
) -> None:
    assert len(areas(saved(trimesh.creation.box((1, 1, 1)), tmp_path), layer)) == count


def test_a_name_with_quotes_is_written_as_a_project_has_it(tmp_path: Path) -> None:
    ((_, one),) = load_part(saved(trimesh.creation.box((1, 1, 1)), tmp_path, 'a "b".stl'), 1.0)
    assert tomllib.loads("\n".join(one.recipe)) == {"design": 'a "b".stl', "layer": ["1mm"]}


def test_a_small_hole_is_closed_and_said(tmp_path: Path) -> None:
    box = trimesh.creation.box((2, 2, 2))
    box.update_faces(np.arange(len(box.faces)) != 4)
    layers = load_part(saved(box, tmp_path), 0.5)
    assert [one.area.area for _, one in layers] == pytest.approx([4] * 4)
    assert "was open" in layers[0][1].warnings[0]


def test_facets_that_are_turned_over_are_turned_back(tmp_path: Path) -> None:
    """Also of a part with a cavity, which does not become solid."""
    hollow = trimesh.creation.box((4, 4, 4))
    cavity = trimesh.creation.box((2, 2, 2))
    cavity.invert()
    both = trimesh.util.concatenate([hollow, cavity])
    facets = both.faces.copy()
    facets[[3, 17]] = facets[[3, 17], ::-1]
    path = saved(trimesh.Trimesh(both.vertices, facets, process=False), tmp_path)
    layers = load_part(path, 1.0)
    assert [one.area.area for _, one in layers] == pytest.approx([16, 12, 12, 16])
    assert "turned over" in layers[0][1].warnings[0]


def test_an_open_mesh_is_refused_with_a_place(tmp_path: Path) -> None:
    """A quarter of its side is missing, which could be closed in many ways."""
    tube = trimesh.creation.cylinder(1, 3, sections=32)
    middles = tube.triangles_center
    tube.update_faces(~((middles[:, 0] > 0.3) & (middles[:, 1] > 0.3)))
    with pytest.raises(
        InputError, match=r"the mesh is open: \d+ of its edges .* x (\S+), y (\S+), z (\S+) mm"
    ) as found:
        load_part(saved(tube, tmp_path), 0.1)
    words = str(found.value).replace(",", "").split()
    x, y = (float(words[words.index(name) + 1]) for name in ("x", "y"))
    assert 0 <= x <= 1 and 0 <= y <= 1 and "\n" not in str(found.value)


def test_units(tmp_path: Path) -> None:
    """STL and OBJ state none, and absurd sizes are asked about; 3MF states its own."""
    metres = saved(trimesh.creation.box((0.02, 0.02, 0.01)), tmp_path, "metres.stl")
    with pytest.raises(InputError, match=r"0\.02 × 0\.02 × 0\.01 mm if .* 20 × 20 × 10 mm if .* metres"):
        load_part(metres, 0.05)
    assert areas(metres, 0.005, unit="mm") == pytest.approx([4e-4] * 2)  # type: ignore[arg-type]
    inches = saved(trimesh.creation.box((1, 1, 1)), tmp_path, "inches.stl")
    assert areas(inches, 12.7, unit="in") == pytest.approx([25.4**2] * 2)  # type: ignore[arg-type]
    model = saved(trimesh.creation.box((1, 1, 1)), tmp_path, "own.3mf")
    assert areas(model, 0.5) == pytest.approx([1, 1])
    with zipfile.ZipFile(model) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(model, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data.replace(b'unit="millimeter"', b'unit="inch"'))
    assert areas(model, 12.7) == pytest.approx([25.4**2] * 2)
    with pytest.raises(InputError, match="--unit says nothing about 3MF"):
        load_part(model, 1.0, unit="mm")
    with pytest.raises(InputError, match="unit is 'mile'"):
        load_part(inches, 1.0, unit="mile")


@pytest.mark.parametrize(
    ("layer", "sentence"),
    [
        (5.0, "a layer of 5 mm is thicker than the part, which is 4 × 4 × 4 mm"),
        (0.0005, "layers of 0.5 µm are thinner than the 1 µm"),
        (-1.0, "layer is -1.0 mm, but must be above 0"),
        (math.nan, "layer is nan mm, but must be above 0"),
    ],
)
def test_layers_that_cannot_be(layer: float, sentence: str, cone: Path) -> None:
    with pytest.raises(InputError, match=sentence):
        load_part(cone, layer)


def test_what_hangs_on_nothing_is_refused(tmp_path: Path) -> None:
    upper = trimesh.creation.box((1, 1, 1))
    upper.apply_translation((0, 0, 3))
    gap = trimesh.util.concatenate([trimesh.creation.box((1, 1, 1)), upper])
    with pytest.raises(InputError, match=r"nothing in layer 3 of 8, 1\.25 mm above .* hangs on nothing"):
        load_part(saved(gap, tmp_path), 0.5)


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("empty.stl", b"", "the file is empty"),
        ("none.stl", b"solid none\nendsolid none\n", "the part is empty"),
        ("cut.stl", bytes(80) + (9).to_bytes(4, "little") + bytes(70), "the part is empty: .* is damaged"),
        ("text.obj", b"hello\n", "the part is empty"),
        ("no.3mf", b"PK\x03\x04", "cannot be read as 3MF"),
        ("drawing.stl", b'<svg xmlns="http://www.w3.org/2000/svg"/>', r"it is a drawing \(SVG\)"),
        ("part.step", b"ISO-10303-21;", "a part is an STL, 3MF or OBJ file"),
    ],
)
def test_files_that_are_no_parts(name: str, data: bytes, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InputError, match=sentence) as found:
        load_part(path, 0.1)
    assert str(found.value).startswith(str(path)) and "\n" not in str(found.value)


def test_without_trimesh_it_says_what_to_install(cone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(InputError, match=r"need the package trimesh: pip install 'laserpath\[parts\]'"):
        load_part(cone, 0.1)


def test_a_drawing_s_reader_names_the_way(cone: Path) -> None:
    with pytest.raises(InputError, match=r"laserpath plan part\.stl --layer 50um"):
        laserpath.load(cone, tolerance=0.01)


def hung(*areas: shapely.Geometry) -> tuple[str, ...]:
    """What is said of layers of 0.1 mm."""
    each = [shapely.MultiPolygon([one]) if one.geom_type == "Polygon" else one for one in areas]
    return warnings_of(unprintable([0.1 * (k + 1) for k in range(len(each))], each))


BASE, FAR = shapely.box(0, 0, 4, 4), shapely.box(6, 0, 7, 1)
RING = BASE.difference(shapely.box(1, 1, 3, 3), grid_size=NODING)


def test_what_hangs_on_nothing_is_named_with_its_layer() -> None:
    (sentence,) = hung(BASE, shapely.MultiPolygon([BASE, FAR]), shapely.MultiPolygon([BASE, FAR]))
    assert sentence.startswith("layer 2 at z 0.2 mm has an island at (6.50, 0.50) mm: it hangs on")
    assert not hung(shapely.MultiPolygon([BASE, FAR]), BASE), "what stands on the plate"
    many = shapely.MultiPolygon([BASE, *(shapely.box(x, 9, x + 0.5, 10) for x in range(5))])
    said = hung(BASE, many)
    assert len(said) == 3
    assert said[-1].endswith("; 2 more of the kind")


def test_a_wide_span_is_named_with_its_layer() -> None:
    (sentence,) = hung(BASE, shapely.box(0, 0, 7, 4))
    assert sentence.startswith("layer 2 at z 0.2 mm reaches 3 mm over nothing at (7.00, ")
    legs = shapely.MultiPolygon([shapely.box(0, 0, 1, 4), shapely.box(5, 0, 6, 4)])
    (bridge,) = hung(legs, shapely.box(0, 0, 6, 4))
    assert bridge.startswith("layer 2 at z 0.2 mm reaches 2 mm over nothing at (3.00, ")
    assert not hung(BASE, shapely.box(0, 0, 4.9, 4)), "less than a millimetre"


def test_trapped_resin_is_named_with_its_volume_and_place() -> None:
    (sentence,) = (one for one in hung(BASE, RING, RING, BASE) if "trapped" in one)
    assert sentence.startswith("0.8 mm³ of resin are trapped from z 0.1 to 0.3 mm at (2.00, 2.00) mm: ")
    (on_the_plate,) = (one for one in hung(RING, BASE) if "trapped" in one)
    assert "0.4 mm³ of resin are trapped from z 0 to 0.1 mm" in on_the_plate
    assert not hung(BASE, RING, RING), "a cup that is open above"
    drained = RING.difference(shapely.box(2, -1, 2.2, 2), grid_size=NODING)
    assert not [one for one in hung(BASE, RING, drained, BASE) if "trapped" in one], "open at a side"
    shifted = BASE.difference(shapely.box(2.5, 1, 3.5, 3), grid_size=NODING)
    (one_cavity,) = (one for one in hung(BASE, RING, shifted, BASE) if "trapped" in one)
    assert one_cavity.startswith("0.6 mm³"), "holes that overlap are one"


def test_voids_that_meet_over_several_layers_are_one() -> None:
    """Slots at the left and the right of a plate, joined by a wide one above, below which both drain."""
    plate = shapely.box(0, 0, 5, 3)
    left, right, wide = (shapely.box(x0, 1, x1, 2) for x0, x1 in ((0.5, 1.5), (2.5, 3.5), (0.5, 3.5)))
    cut = [[right], [left, right], [wide], [right]]
    layers = [plate.difference(shapely.MultiPolygon(slots), grid_size=NODING) for slots in cut]
    assert not [one for one in hung(*layers) if "trapped" in one], "open above"
    (closed,) = (one for one in hung(*layers, plate) if "trapped" in one)
    assert "0.7 mm³ of resin are trapped from z 0 to 0.4 mm" in closed


def test_drawings_are_stacked_by_the_numbers_in_their_names(tmp_path: Path) -> None:
    for number, side in ((10, 2), (9, 1), (11, 3)):
        (tmp_path / f"slice_{number}.wkt").write_text(
            f"POLYGON ((5 5, {5 + side} 5, {5 + side} 6, 5 6, 5 5))"
        )
    layers = load_stack(tmp_path / "slice_*.wkt", 0.05, reading=Reading(1e-3))
    assert [z for z, _ in layers] == [0.05, 0.1, 0.15]
    assert [one.bounds for _, one in layers] == [(5, 5, 6, 6), (5, 5, 7, 6), (5, 5, 8, 6)]
    assert layers[0][1].source == ("from slice_*.wkt", "3 drawings, 0.05 mm thick each")
    assert is_stack(tmp_path / "slice_*.wkt")
    assert not is_stack(tmp_path / "slice_9.wkt")


@pytest.mark.parametrize("suffix", [".gds", ".oas"])
def test_the_layers_of_a_layout_are_stacked_by_their_numbers(suffix: str, tmp_path: Path) -> None:
    library, place = gdstk.Library(unit=1e-3, precision=1e-9), tmp_path / f"part{suffix}"
    cell = library.new_cell("TOP")
    for number, side in ((10, 3), (9, 1), (11, 2)):
        cell.add(gdstk.rectangle((5, 5), (5 + side, 6), layer=number))
    getattr(library, f"write_{place.suffix[1:]}")(str(place))
    layers = load_stack(place, 0.05, reading=Reading(1e-3))
    assert [z for z, _ in layers] == [0.05, 0.1, 0.15]
    assert [one.bounds for _, one in layers] == [(5, 5, 6, 6), (5, 5, 8, 6), (5, 5, 7, 6)]
    assert {one.name for _, one in layers} == {"part"}
    assert is_layout(place, ("50um",))
    assert not is_layout(place, ("1/0",))
    assert not is_layout(place, ("50um", "60um"))
    assert not is_layout(tmp_path / "part.svg", ("50um",))


def test_layers_that_are_cut_already_say_how_thick_they_are_exposed_if_the_resin_shrinks(
    tmp_path: Path,
) -> None:
    (tmp_path / "slice_1.wkt").write_text("POLYGON ((5 5, 6 5, 6 6, 5 6, 5 5))")
    place = archive(tmp_path / "part.sl1", L_SHAPE, orientation="landscape", mirror=(0, 0))
    for shrinkage, said in (((0.02, 0.02, 0.0), False), ((0.0, 0.0, 0.02), True)):
        resin = Resin(shrinkage=shrinkage)
        for layers in (
            load_stack(tmp_path / "slice_*.wkt", 0.05, reading=Reading(1e-3), resin=resin),
            load_part(place, resin=resin),
        ):
            found = [one for one in layers[0][1].warnings if "exposed 51.02 µm thick instead of 50 µm" in one]
            assert bool(found) == said


L_SHAPE = np.array([[1, 1, 1], [1, 0, 0]], bool)
"""Pixels of a part, row 0 the lowest."""


def archive(place: Path, picture: Bools, *, orientation: str, mirror: tuple[int, int]) -> Path:
    """An SL1 file of 12 layers of 50 µm with pixels of 0.5 mm, black around them."""
    pixels = np.pad(picture, 1)
    rows, columns = pixels.shape if orientation == "landscape" else pixels.shape[::-1]
    said = {
        "display_width": 0.5 * columns, "display_height": 0.5 * rows, "display_pixels_x": columns,
        "display_pixels_y": rows, "display_orientation": orientation,
        "display_mirror_x": mirror[0], "display_mirror_y": mirror[1],
    }  # fmt: skip
    drawn = io.BytesIO()
    Image.fromarray(np.uint8(255 * pixels[::-1])).save(drawn, "PNG")
    with zipfile.ZipFile(place, "w") as made:
        made.writestr("config.ini", "jobDir = part\nlayerHeight = 0.05\n")
        made.writestr("prusaslicer.ini", "".join(f"{key} = {value}\n" for key, value in said.items()))
        made.writestr("thumbnail/thumbnail400x400.png", b"")
        for k in range(12):
            made.writestr(f"part{k:05d}.png", drawn.getvalue())
    return place


@pytest.mark.parametrize(
    ("orientation", "mirror", "picture"),
    [
        ("landscape", (0, 0), L_SHAPE), ("landscape", (1, 0), L_SHAPE[:, ::-1]),
        ("landscape", (0, 1), L_SHAPE[::-1]), ("portrait", (1, 0), L_SHAPE.T),
        ("portrait", (0, 0), L_SHAPE.T[:, ::-1]),
    ],
)  # fmt: skip
def test_an_archive_of_slices_is_seen_from_above(
    tmp_path: Path, orientation: str, mirror: tuple[int, int], picture: Bools
) -> None:
    """Whichever way the display lies. An upright one has x and y exchanged, which mirrors it once more."""
    place = archive(tmp_path / "part.sl1", picture, orientation=orientation, mirror=mirror)
    layers = load_part(place)
    assert [z for z, _ in layers] == pytest.approx(0.05 * np.arange(1, 13))
    assert layers[0][1].area is layers[-1][1].area, "equal pictures are read once"
    bounds = layers[0][1].bounds
    assert bounds == pytest.approx((0.5, 0.5, 2.0, 1.5))
    assert layers[0][1].area.area == pytest.approx(4 * 0.25)
    assert shapely.contains_xy(layers[0][1].area, 0.7, 1.2)
    assert not shapely.contains_xy(layers[0][1].area, 1.7, 1.2)


def test_archives_that_are_none(tmp_path: Path) -> None:
    place = archive(tmp_path / "part.sl1", L_SHAPE, orientation="landscape", mirror=(0, 0))
    with pytest.raises(InputError, match=r"it says how thick its layers are, 0\.05 mm: leave --layer out"):
        load_part(place, 0.05)
    place.write_bytes(place.read_bytes()[:-40])
    with pytest.raises(InputError, match="cannot be read as SL1, damaged or of another kind"):
        load_part(place)
    with zipfile.ZipFile(place, "w") as made:
        made.writestr("config.ini", "layerHeight = 0.05\n")
    with pytest.raises(InputError, match="it has no pictures of layers"):
        load_part(place)
    nothing = archive(tmp_path / "nothing.sl1", L_SHAPE & False, orientation="landscape", mirror=(0, 0))
    with pytest.raises(InputError, match=r"there is nothing in part00000\.png"):
        load_part(nothing)


def test_what_an_archive_does_not_say_is_given(tmp_path: Path) -> None:
    """Those of other tools have no prusaslicer.ini, or no layerHeight."""
    whole = archive(tmp_path / "whole.sl1", L_SHAPE, orientation="landscape", mirror=(0, 0))

    def without(name: str, line: str = "") -> Path:
        place = tmp_path / "less.sl1"
        with zipfile.ZipFile(whole) as old, zipfile.ZipFile(place, "w") as new:
            for one in old.namelist():
                if one != name or line:
                    new.writestr(
                        one, old.read(one).replace(line.encode(), b"#") if one == name else old.read(one)
                    )
        return place

    plain = without("prusaslicer.ini")
    with pytest.raises(InputError, match=r"it has no prusaslicer\.ini, or that .* give it by --pixel 47um"):
        load_part(plain)
    given, stated = load_part(plain, pixel=0.5), load_part(whole)
    assert [z for z, _ in given] == [z for z, _ in stated]
    assert given[0][1].area.equals(stated[0][1].area)
    assert (
        "does not say display_orientation, so its pictures are taken as seen from" in given[0][1].warnings[0]
    )
    assert 'pixel = "0.5mm"' in given[0][1].recipe
    for place in (without("config.ini"), without("config.ini", "layerHeight")):
        with pytest.raises(InputError, match=r"its config\.ini does not say layerHeight: .* --layer 50um"):
            load_part(place)
        assert load_part(place, 0.02)[-1][0] == pytest.approx(12 * 0.02)
    with pytest.raises(InputError, match="it says layerHeight = #, but that must be a number above 0"):
        load_part(without("config.ini", "0.05"))
    with pytest.raises(InputError, match="it says how large its pixels are: leave --pixel out"):
        load_part(whole, pixel=0.5)


def test_what_prusaslicer_has_sliced_is_the_part(tmp_path: Path, need: Callable[..., str]) -> None:
    """An L of 3 × 2 mm on the upright, mirrored display of the SL1."""
    bars = []
    for size, at in (((3, 1, 0.3), (1.5, 0.5, 0.15)), ((1, 1.5, 0.3), (0.5, 1.25, 0.15))):
        bar = trimesh.creation.box(size)
        bar.apply_translation(at)
        bars.append(bar)
    saved(trimesh.util.concatenate(bars), tmp_path, "l.stl")
    options = {
        "printer-technology": "SLA", "display-width": 68.04, "display-height": 120.96,
        "display-pixels-x": 1440, "display-pixels-y": 2560, "display-orientation": "portrait",
        "display-mirror-x": 1, "layer-height": 0.05, "initial-layer-height": 0.05, "supports-enable": 0,
        "pad-enable": 0,
    }  # fmt: skip
    (tmp_path / "sla.ini").write_text("".join(f"{k.replace('-', '_')} = {v}\n" for k, v in options.items()))
    slice_ = [need("prusa-slicer"), "--export-sla", "--load", "sla.ini", "--center", "34,60"]
    subprocess.run(
        [*slice_, "-o", "l.sl1", "l.stl"], cwd=tmp_path, check=True, capture_output=True, timeout=300
    )
    layers = load_part(tmp_path / "l.sl1")
    drawn = union([shapely.box(32.5, 59, 35.5, 60), shapely.box(32.5, 59, 33.5, 61)])
    assert [z for z, _ in layers] == pytest.approx(0.05 * np.arange(1, 7))
    for _, one in layers:
        assert differing(one.area, drawn).area < 0.02, "of 4 mm², with pixels of 47 µm"
