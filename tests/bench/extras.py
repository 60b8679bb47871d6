"""What is measured beside the rows: the machine itself, memory, and scaling."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from campaign import Campaign, child, cores_for
from machine import cores
from rows import ours
from scaling import KEYS, PIXELS, POINTS


@dataclass(frozen=True)
class Machine:
    """bandwidth: bytes/s.  fft: seconds of one real FFT of a shape."""

    bandwidth: float
    fft: dict[tuple[int, int], float]


@dataclass(frozen=True)
class Memory:
    """Bytes by which one call of laserpath lets the process grow."""

    size: str
    key: str
    bytes: float


@dataclass(frozen=True)
class Curve:
    """Seconds of a row (its key) against points, pixels or threads."""

    axis: str
    key: str
    at: tuple[float, ...]
    seconds: tuple[float, ...]


def machine(campaign: Campaign, threads: int) -> Machine:
    """Bandwidth, and FFTs of the shapes that laserpath transforms."""
    shapes = {
        tuple(shape)
        for group, measured in campaign.groups.items()
        for key, one in measured.items()
        if group.threads == threads and key == ours(group.size, campaign.profile)
        for shape in one.fft_shapes
    }
    ordered = sorted(shapes)
    found = child("machine.py", {"cores": cores_for(threads, 0), "shapes": ordered})
    return Machine(found["bandwidth"], dict(zip(ordered, found["fft"], strict=True)))


def memories(sizes: Iterable[str]) -> list[Memory]:
    """Of laserpath, a process for each size; nothing where the system does not tell."""
    found = []
    for size in sizes:
        request = {"row": ours(size), "size": size, "cores": cores()}
        found.append(Memory(size, ours(size), child("memory.py", request)["bytes"]))
    return found


def scaling() -> list[Curve]:
    """One thread along points and pixels; one to all along threads."""
    one = cores_for(1, 0)
    curves = []
    for key in KEYS:
        for axis, at in (("points", POINTS), ("pixels", tuple(n**2 for n in PIXELS))):
            seconds = child("scaling.py", {"row": key, "axis": axis, "cores": one})
            curves.append(Curve(axis, key, at, tuple(seconds)))
        curves.append(_threads(key))
    return curves


def _threads(key: str) -> Curve:
    every = len(cores())
    counts = sorted({2**i for i in range(every.bit_length())} | {every})
    seconds = [child("scaling.py", {"row": key, "axis": "", "cores": cores()[:n]})[0] for n in counts]
    return Curve("threads", key, tuple(counts), tuple(seconds))
