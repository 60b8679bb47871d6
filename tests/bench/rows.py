"""The rows of the table: who computes what on which grid, and on how many of the points."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from problem import Problem, problem

OWN_PIXELS_PER_FWHM = 6.0
"""Of the coarser grid on which laserpath takes the loss, and its peers too in the rows that say so."""

GOALS = {"S": 2.0, "M": 3.0, "L": 5.0}
"""How many times faster than the best of PyTorch and JAX on the row's own pixels."""

ROUNDS = {"S": 31, "M": 9, "L": 7}
"""Measured calls after the warm-up, at least 7."""


@dataclass(frozen=True)
class Row:
    """coarse: on the grid of `OWN_PIXELS_PER_FWHM`, where that is coarser than the row's.

    some: the number of points that are measured where all would take minutes; the time for all is then
    extrapolated on the line through that number and a quarter of it.
    round_spots: also for an Airy spot, which no stencil holds.
    devices: where it can run.
    """

    key: str
    label: str
    module: str
    coarse: bool = False
    sizes: str = "SML"
    some: Mapping[str, int] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    profiles: tuple[str, ...] = ("gaussian",)
    devices: tuple[str, ...] = ("cpu",)

    def task(self, size: str, profile: str = "gaussian") -> Problem:
        return problem(size, self.some.get(size, 0), profile)

    def pixels(self, size: str) -> int:
        task = self.task(size)
        return task.pixels_at(OWN_PIXELS_PER_FWHM) if self.coarse else task.pixels

    def make(self, size: str, profile: str, device: str) -> Any:
        """The peer, ready to be called."""
        task = self.task(size, profile)
        peer = importlib.import_module(f"peers.{self.module}").Peer
        return peer(task, task.grid(self.pixels(size)), device, **self.options)


_ANY = ("gaussian", "airy")
_BOTH = ("cpu", "cuda")
_FFT, _DIRECT = {"method": "fft"}, {"method": "direct"}

ROWS = (
    Row("ours fft coarse", "laserpath, FFT", "ours", coarse=True, options=_FFT, profiles=_ANY),
    Row("ours fft", "laserpath, FFT", "ours", options=_FFT, profiles=_ANY),
    Row("ours direct", "laserpath, direct", "ours", sizes="SM", options=_DIRECT, devices=_BOTH),
    Row("torch fft", "PyTorch FFT", "torch_fft", profiles=_ANY, devices=_BOTH),
    Row("torch fft coarse", "PyTorch FFT", "torch_fft", coarse=True, profiles=_ANY, devices=_BOTH),
    Row("jax fft", "JAX FFT", "jax_fft", profiles=_ANY, devices=_BOTH),
    Row("jax fft coarse", "JAX FFT", "jax_fft", coarse=True, profiles=_ANY, devices=_BOTH),
    Row("torch direct", "PyTorch direct", "torch_direct", some={"M": 8_000, "L": 2_000}, devices=_BOTH),
    Row("jax direct", "JAX direct", "jax_direct", some={"M": 8_000, "L": 4_000}, devices=_BOTH),
    Row("numba direct", "Numba direct", "numba_direct"),
    Row("numba fft", "Numba FFT", "numba_fft", profiles=_ANY),
    Row("taichi", "Taichi autodiff", "taichi_autodiff", some={"M": 8_000, "L": 4_000}, devices=_BOTH),
    Row("finufft", "finufft, types 1 + 2", "finufft_nufft", coarse=True, profiles=_ANY),
)
BY_KEY = {row.key: row for row in ROWS}


def rows(size: str, profile: str = "gaussian", device: str = "cpu") -> list[Row]:
    """Those of a size; on a coarser grid only where there is one, except those who always choose theirs."""
    full = problem(size).pixels
    twins = {(row.module, tuple(row.options.items())) for row in ROWS if not row.coarse}
    return [
        row
        for row in ROWS
        if size in row.sizes
        and profile in row.profiles
        and device in row.devices
        and not (
            row.coarse and row.pixels(size) == full and (row.module, tuple(row.options.items())) in twins
        )
    ]


def ours(size: str, profile: str = "gaussian") -> str:
    """The row that the others are compared with: the direct engine for the few points of S, else FFT."""
    keys = {row.key for row in rows(size, profile)}
    chosen = ("ours direct", "ours fft") if size == "S" else ("ours fft coarse", "ours fft")
    return next(key for key in chosen if key in keys)
