"""What a slow host costs: moves that the link could carry by the profile, and what to set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from laserpath.base.errors import figure
from laserpath.machine import convert
from laserpath.types import Machine

_FAST = 1e-3
"""s, the answer of a fast USB bridge, and the least that FTDI's latency timer can be set to."""

_MORE = 1.1
"""Moves/s that a remedy has to bring, relative to those as it is: a larger one names fewer remedies."""


def slow_host(machine: Machine) -> tuple[str, ...]:
    """A sentence if the host delivers fewer moves a second than the link could carry by the profile."""
    carried = convert.segment_rate(machine)
    if carried >= machine.segment_rate:
        return ()
    ways = (
        *([f"answers after {figure(1000 * machine.host_delay, 3)} ms"] if machine.host_delay else []),
        *(["sends line by line"] if machine.host_window == "lines" else []),
    )
    remedies = ", ".join(_remedies(machine, carried))
    return (
        f"the host {' and '.join(ways)}, so the link carries {carried:.0f} moves/s instead of "
        f"{machine.segment_rate:g}: paths have fewer moves, and are slower where there are many"
        + (f"; instead there would be {remedies}" if remedies else ""),
    )


def _remedies(machine: Machine, carried: float) -> Iterator[str]:
    """What brings more moves a second, and how many."""
    tried = (
        ("a sender that counts characters", replace(machine, host_window="characters")),
        (
            "a latency of 1 ms (FTDI's latency timer)",
            replace(machine, host_delay=min(machine.host_delay, _FAST)),
        ),
        ("a card that the controller reads", replace(machine, host_window="card")),
    )
    for what, better in tried:
        if (rate := convert.segment_rate(better)) > _MORE * carried:
            yield f"{rate:.0f} with {what}"
