"""A small board in KiCad's names, 10 × 6 mm with its corner at (20, 30), whose single files tests change."""

from __future__ import annotations

import zipfile
from pathlib import Path

HEAD = "%FSLAX36Y36*%\n%MOMM*%\n%ADD10C,0.5*%\n%ADD11C,1.0*%\n%ADD12C,0.1*%\n%ADD13R,1.0X2.0*%\n"

HOLES = ((22.0, 32.0), (27.0, 34.0))
"""mm, in the board's coordinates; at both there is a pad of 1 mm on both sides."""


def gerber(*draws: str, function: str = "") -> bytes:
    """A Gerber of some commands. function: its X2 file function."""
    attribute = f"%TF.FileFunction,{function}*%\n" if function else ""
    return (HEAD + attribute + "G01*\n" + "\n".join(draws) + "\nM02*\n").encode()


def at(x: float, y: float, operation: str) -> str:
    """One operation at a place in mm."""
    return f"X{round(x * 1e6)}Y{round(y * 1e6)}{operation}*"


def line(aperture: str, *points: tuple[float, float]) -> str:
    """A line through some points, mm."""
    begin, *rest = points
    return "\n".join([f"{aperture}*", at(*begin, "D02"), *(at(*point, "D01") for point in rest)])


def box(x0: float, y0: float, x1: float, y1: float) -> str:
    """A closed line around a box, mm."""
    return line("D12", (x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0))


def pads(aperture: str = "D11") -> str:
    """A flash at both holes."""
    return "\n".join([f"{aperture}*", *(at(x, y, "D03") for x, y in HOLES)])


def drill(
    *holes: tuple[float, float], diameter: float = 0.6, unit: str = "METRIC", scale: float = 1.0
) -> bytes:
    """A drill file."""
    body = "\n".join(f"X{x * scale:.4f}Y{y * scale:.4f}" for x, y in holes)
    return f"M48\n{unit}\nT1C{diameter * scale:.4f}\n%\nT1\n{body}\nM30\n".encode()


def files() -> dict[str, bytes]:
    """Name → content. The front's copper ends 1 mm, the back's 3 mm from the board's left edge."""
    return {
        "b-F_Cu.gbr": gerber(
            pads(), line("D10", HOLES[0], (27.0, 32.0), HOLES[1]), line("D10", (21.25, 35), (25, 35))
        ),
        "b-B_Cu.gbr": gerber(pads(), line("D10", (23.25, 31.0), (28.0, 31.0))),
        "b-F_Mask.gbr": gerber(pads()),
        "b-F_Paste.gbr": gerber("D13*", at(25, 33, "D03")),
        "b-Edge_Cuts.gbr": gerber(box(20, 30, 30, 36), box(28.5, 31.5, 29.5, 33.5)),
        "b.drl": drill(*HOLES),
    }


def write(folder: Path, **changed: bytes | None) -> Path:
    """The board in a folder. changed: the files with `-` as `_` and without suffix; None leaves one out."""
    folder.mkdir(exist_ok=True)
    for name, data in files().items():
        data = changed.get(name.partition(".")[0].replace("-", "_"), data)
        if data is not None:
            (folder / name).write_bytes(data)
    return folder


def small() -> dict[str, bytes]:
    """A board of 2.5 × 1.5 mm: a pad with a hole near the left edge, on the back also one near the right."""
    return {
        "s-F_Cu.gbr": gerber("D11*", at(20.7, 30.7, "D03")),
        "s-B_Cu.gbr": gerber("D11*", at(20.7, 30.7, "D03"), "D10*", at(21.7, 30.5, "D03")),
        "s-F_Mask.gbr": gerber("D10*", at(20.7, 30.7, "D03")),
        "s-Edge_Cuts.gbr": gerber(box(20, 30, 22.5, 31.5)),
        "s.drl": drill((20.7, 30.7), diameter=0.4),
    }


def archive(path: Path, contents: dict[str, bytes]) -> None:
    """A ZIP archive with a folder."""
    with zipfile.ZipFile(path, "w") as packed:
        for name, data in contents.items():
            packed.writestr(f"gerbers/{name}", data)
