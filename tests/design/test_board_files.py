"""Which layer each file of a board is: by attributes, job files and the names of CAD programs; archives."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

from laserpath.base import limits
from laserpath.base.errors import InputError
from laserpath.design.board.files import BoardFiles, gather, of_function

GERBER = b"%%FSLAX36Y36*%%\n%%MOMM*%%\n%%ADD10C,0.%d*%%\nD10*\nX0Y0D03*\nM02*\n"
DRILL = b"M48\nMETRIC\nT1C0.%d\n%%\nT1\nX1.0Y1.0\nM30\n"

TWO_SIDES = (
    "top-copper", "bottom-copper", "top-mask", "bottom-mask", "top-paste", "bottom-paste", "top-silk",
    "bottom-silk",
    "outline",
)  # fmt: skip
NAMES = {
    "KiCad": (
        "b-F_Cu.gbr b-B_Cu.gbr b-F_Mask.gbr b-B_Mask.gbr b-F_Paste.gbr b-B_Paste.gbr b-F_Silkscreen.gbr "
        "b-B_SilkS.gbr b-Edge_Cuts.gbr",
        {"b-In1_Cu.gbr": "inner1-copper", "b-In12_Cu.gbr": "inner12-copper", "b-F_Fab.gbr": "other",
         "b-F_Courtyard.gbr": "other", "b-User_1.gbr": "other"},
        {
            "b-PTH.drl": "plated-drill",
            "b-NPTH.drl": "unplated-drill",
            "b.drl": "drill",
            "b-PTH-drl.gbr": "plated-drill",
        },
    ),
    "KiCad with Protel's suffixes": (
        "b-F.Cu.gtl b-B.Cu.gbl b-F.Mask.gts b-B.Mask.gbs b-F.Paste.gtp b-B.Paste.gbp b-F.SilkS.gto "
        "b-B.SilkS.gbo "
        "b-Edge.Cuts.gm1",
        {"b-In1.Cu.g2": "inner1-copper"},
        {},
    ),
    "Eagle": (
        "b.cmp b.sol b.stc b.sts b.crc b.crs b.plc b.pls b.dim",
        {"b.ly2": "inner1-copper"},
        {"b.drd": "drill"},
    ),
    "Eagle for OSH Park": (
        "b.toplayer.ger b.bottomlayer.ger b.topsoldermask.ger b.bottomsoldermask.ger b.tcream.ger "
        "b.bcream.ger "
        "b.topsilkscreen.ger b.bottomsilkscreen.ger b.boardoutline.ger",
        {"b.internalplane1.ger": "inner1-copper"},
        {"b.plated.drills.xln": "plated-drill", "b.nonplated.drills.xln": "unplated-drill"},
    ),
    "Fusion": (
        "copper_top_l1.gbr copper_bottom_l4.gbr soldermask_top.gbr soldermask_bottom.gbr solderpaste_top.gbr "
        "solderpaste_bottom.gbr silkscreen_top.gbr silkscreen_bottom.gbr profile.gbr",
        {"copper_inner_l2.gbr": "inner1-copper", "copper_inner_l3.gbr": "inner2-copper"},
        {"drill_1_16.xln": "drill"},
    ),
    "Altium": (
        "b.GTL b.GBL b.GTS b.GBS b.GTP b.GBP b.GTO b.GBO b.GM1",
        {"b.G1": "inner1-copper", "b.GP2": "inner2-copper", "b.GM15": "other", "b.GPT": "other"},
        {"b-RoundHoles.TXT": "drill"},
    ),
    "EasyEDA": (
        "Gerber_TopLayer.GTL Gerber_BottomLayer.GBL Gerber_TopSolderMaskLayer.GTS "
        "Gerber_BottomSolderMaskLayer.GBS "
        "Gerber_TopPasteMaskLayer.GTP Gerber_BottomPasteMaskLayer.GBP Gerber_TopSilkLayer.GTO "
        "Gerber_BottomSilkLayer.GBO Gerber_BoardOutline.GKO",
        {"Gerber_InnerLayer1.G1": "inner1-copper", "Gerber_InnerLayer2.G2": "inner2-copper"},
        {"Gerber_Drill_PTH.DRL": "plated-drill", "Gerber_Drill_NPTH.DRL": "unplated-drill"},
    ),
    "DipTrace": (
        "b_Top.gbr b_Bottom.gbr b_TopMask.gbr b_BottomMask.gbr b_TopPaste.gbr b_BottomPaste.gbr "
        "b_TopSilk.gbr "
        "b_BottomSilk.gbr b_BoardOutline.gbr",
        {"b_TopAssembly.gbr": "other"},
        {"b.drl": "drill"},
    ),
    "OrCAD": (
        "b.TOP b.BOT b.SMT b.SMB b.SPT b.SPB b.SST b.SSB board_outline.art",
        {"b.IN1": "inner1-copper", "b.FAB": "other"},
        {"b.npt": "unplated-drill", "thruhole.tap": "drill"},
    ),
    "gEDA": (
        "b.top.gbr b.bottom.gbr b.topmask.gbr b.bottommask.gbr b.toppaste.gbr b.bottompaste.gbr "
        "b.topsilk.gbr "
        "b.bottomsilk.gbr b.outline.gbr",
        {"b.fab.gbr": "other"},
        {"b.plated-drill.cnc": "plated-drill", "b.unplated-drill.cnc": "unplated-drill"},
    ),
    "Proteus": (
        "b - CADCAM Top Copper.TXT|b - CADCAM Bottom Copper.TXT|b - CADCAM Top Solder Resist.TXT|"
        "b - CADCAM Bottom Solder Resist.TXT|b - CADCAM Top SMT Paste Mask.TXT|b - CADCAM Bottom SMT "
        "Paste Mask.TXT|"
        "b - CADCAM Top Silk Screen.TXT|b - CADCAM Bottom Silk Screen.TXT|b - CADCAM Mechanical 1.TXT",
        {},
        {"b - CADCAM Drill.TXT": "drill"},
    ),
    "PADS": (
        "Top.pho Bottom.pho SMT.pho SMB.pho SPT.pho SPB.pho SST.pho SSB.pho outline.pho",
        {"Layer2.pho": "inner1-copper"},
        {"Drill.drl": "drill"},
    ),
    "Target 3001": (
        "b.Top b.Bot b.StopTop b.StopBot b.PasteTop b.PasteBot b.PosiTop b.PosiBot b.Outline",
        {},
        {"b.Drill": "drill"},
    ),
}  # fmt: skip


def files_of(program: str) -> dict[str, str]:
    """Name → kind of all files."""
    two_sides, more, drills = NAMES[program]
    names = two_sides.split("|" if "|" in two_sides else " ")
    return {**dict(zip(names, TWO_SIDES, strict=True)), **more, **drills}


def write(folder: Path, names: dict[str, str]) -> None:
    """Files that differ, as copies count once."""
    for number, (name, kind) in enumerate(names.items(), 10):
        (folder / name).write_bytes((DRILL if "drill" in kind else GERBER) % number)


def kinds(board: BoardFiles) -> dict[str, str]:
    return {one.name: one.kind for one in board.layers}


@pytest.mark.parametrize("program", NAMES)
def test_the_names_of_a_cad_program_say_the_layers(program: str, tmp_path: Path) -> None:
    expected = files_of(program)
    write(tmp_path, expected)
    (tmp_path / "README.txt").write_text("Top copper is in the other folder.")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    board = gather([tmp_path])
    assert board.unknown == ()
    assert kinds(board) == expected


def test_a_projects_own_name_says_nothing(tmp_path: Path) -> None:
    names = {"bottom_mask_tester-F_Cu.gbr": "top-copper", "bottom_mask_tester-Edge_Cuts.gbr": "outline"}
    write(tmp_path, names)
    assert kinds(gather([tmp_path])) == names


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        ("Copper,L1,Top,Signal", "top-copper"), ("Copper,L2,Bot", "bottom-copper"),
        ("Copper,L2,Inr", "inner1-copper"), ("Copper,L31,Inr,Plane", "inner30-copper"),
        ("Copper,L1,Inr", "inner-copper"), ("Copper,Inr", "inner-copper"), ("Soldermask,Bot", "bottom-mask"),
        ("Paste,Top", "top-paste"), ("Legend,Top", "top-silk"), ("Profile,NP", "outline"),
        ("Plated,1,2,PTH", "plated-drill"), ("NonPlated,1,2,NPTH,Drill", "unplated-drill"),
        ("MixedPlating,1,2", "drill"), ("AssemblyDrawing,Top", "other"), ("Other,User", ""),
    ],
)  # fmt: skip
def test_a_file_function_says_the_layer(function: str, kind: str) -> None:
    assert of_function(function) == kind


def test_the_file_itself_counts_more_than_the_job_file_and_that_more_than_the_name(tmp_path: Path) -> None:
    own = b"G04 #@! TF.FileFunction,Copper,L2,Bot*\n"
    (tmp_path / "a-F_Cu.gbr").write_bytes(own + GERBER % 10)
    (tmp_path / "a-F_Mask.gbr").write_bytes(GERBER % 11)
    (tmp_path / "a-F_Paste.gbr").write_bytes(GERBER % 12)
    said = [
        {"Path": "a-F_Cu.gbr", "FileFunction": "Legend,Top"},
        {"Path": "a-F_Mask.gbr", "FileFunction": "Copper,L1,Top"},
    ]
    (tmp_path / "a.gbrjob").write_text(json.dumps({"FilesAttributes": said}))
    found = {one.name: (one.kind, one.said) for one in gather([tmp_path]).layers}
    assert found == {
        "a-F_Cu.gbr": ("bottom-copper", "X2"),
        "a-F_Mask.gbr": ("top-copper", "job file"),
        "a-F_Paste.gbr": ("top-paste", "name"),
    }


def test_unknown_files_are_listed_and_the_user_settles_them(tmp_path: Path) -> None:
    write(tmp_path, {"front thing.art": "", "b-B_Cu.gbr": "", "xyz.art": ""})
    board = gather([tmp_path])
    assert board.unknown == ("front thing.art", "xyz.art")
    board = gather([tmp_path], {"top-copper": "front thing.art", "outline": str(tmp_path / "xyz.art")})
    assert kinds(board) == {
        "front thing.art": "top-copper",
        "b-B_Cu.gbr": "bottom-copper",
        "xyz.art": "outline",
    }


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"topcopper": "a.gbr"}, "layer 'topcopper' is unknown; known: top-copper"),
        ({"top-copper": "c.gbr"}, "no Gerber and no drill file is named 'c.gbr'; there are a.gbr, b.gbr"),
    ],
)
def test_a_layer_that_cannot_be_settled(given: dict[str, str], words: str, tmp_path: Path) -> None:
    write(tmp_path, {"a.gbr": "", "b.gbr": ""})
    with pytest.raises(InputError, match=words):
        gather([tmp_path], given)


def test_two_outlines_are_refused_and_copies_are_not(tmp_path: Path) -> None:
    write(tmp_path, {"a-Edge_Cuts.gbr": "", "b-Edge_Cuts.gbr": ""})
    with pytest.raises(
        InputError, match=r"2 files are the outline: a-Edge_Cuts\.gbr, b-Edge_Cuts\.gbr; --layer outline="
    ):
        gather([tmp_path]).one("outline")
    chosen = gather([tmp_path], {"outline": "b-Edge_Cuts.gbr"}).one("outline")
    assert chosen is not None
    assert chosen.name == "b-Edge_Cuts.gbr"
    (tmp_path / "a-Edge_Cuts.gbr").write_bytes(chosen.data)
    assert gather([tmp_path]).one("outline") is not None


def test_both_sides_may_look_alike(tmp_path: Path) -> None:
    for name in ("b-F_Mask.gbr", "b-B_Mask.gbr"):
        (tmp_path / name).write_bytes(GERBER % 10)
    assert kinds(gather([tmp_path])) == {"b-F_Mask.gbr": "top-mask", "b-B_Mask.gbr": "bottom-mask"}


def test_an_edge_counts_more_than_a_keep_out(tmp_path: Path) -> None:
    write(tmp_path, {"b.gko": "", "b.gm1": "", "b.outline.gbr": ""})
    outline = gather([tmp_path]).one("outline")
    assert outline is not None
    assert outline.name == "b.outline.gbr"


def archive(*members: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in members:
            packed.writestr(name, data)
    return out.getvalue()


def test_an_archive_is_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "job.zip"
    hidden = ("__MACOSX/._b-F_Cu.gbr", GERBER % 30)
    path.write_bytes(archive(("gerbers/b-F_Cu.gbr", GERBER % 10), ("drill/b.drl", DRILL % 8), hidden))
    board = gather([path])
    assert board.name == "job"
    assert kinds(board) == {"gerbers/b-F_Cu.gbr": "top-copper", "drill/b.drl": "drill"}


@pytest.mark.parametrize("name", ["../b-F_Cu.gbr", "/etc/b-F_Cu.gbr", "C:\\b-F_Cu.gbr", "a\\..\\..\\b.gbr"])
def test_names_that_leave_the_archive_are_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "job.zip"
    path.write_bytes(archive((name, GERBER % 10)))
    with pytest.raises(InputError, match="leads out of its folder"):
        gather([path])


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "job.zip"
    comment = b"G04 " + bytes(5_000_000).replace(b"\0", b"0") + b"*\n"
    path.write_bytes(archive(("b-F_Cu.gbr", GERBER % 10 + comment)))
    assert path.stat().st_size < 100_000
    with (
        limits.limits(bytes=1_000_000),
        pytest.raises(InputError, match=r"holds more than .* which is the limit"),
    ):
        gather([path])


def test_damaged_and_empty_archives_are_refused(tmp_path: Path) -> None:
    path, data = tmp_path / "job.zip", archive(("b-F_Cu.gbr", GERBER % 10))
    path.write_bytes(data[:60])
    with pytest.raises(InputError, match="the archive is damaged"):
        gather([path])
    path.write_bytes(archive(("readme.txt", b"nothing")))
    with pytest.raises(InputError, match="no Gerber and no drill file is among them"):
        gather([path])


def test_several_files_are_a_board_by_their_common_name(tmp_path: Path) -> None:
    write(tmp_path, {"clock-F_Cu.gbr": "", "clock-B_Cu.gbr": ""})
    board = gather([tmp_path / "clock-F_Cu.gbr", tmp_path / "clock-B_Cu.gbr"])
    assert board.name == "clock"
    (tmp_path / "notes.txt").write_text("none")
    with pytest.raises(InputError, match=r"notes\.txt is neither a Gerber nor a drill file"):
        gather([tmp_path / "notes.txt"])
