"""What a slow host costs: moves that the link could carry by the profile, and what to set."""

from __future__ import annotations

from laserpath.base.errors import figure
from laserpath.machine import convert
from laserpath.types import Machine


def slow_host(machine: Machine) -> tuple[str, ...]:
    """A sentence if the host delivers fewer moves a second than the link could carry by the profile."""
    carried = convert.segment_rate(machine)
    if carried >= machine.segment_rate:
        return ()
    ways = [f"answers after {figure(1000 * machine.host_delay, 3)} ms"]
    ways += ["sends line by line"] if machine.host_window == "lines" else []
    return (
        f"the host {' and '.join(ways)}, so the link carries {carried:.0f} moves/s instead of "
        f"{machine.segment_rate:g}: paths have fewer moves, and are slower where there are many; "
        f"{_remedies(machine)} would make up for it",
    )


def _remedies(machine: Machine) -> str:
    """What there is instead of a slow host."""
    counting = ["a sender that counts characters"] if machine.host_window == "lines" else []
    return " or ".join(
        [*counting, "a latency of 1 ms (FTDI's latency timer)", "a card that the controller reads"]
    )
