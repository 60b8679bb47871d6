"""The campaign as tables, for the terminal and for docs/performance.md, where no number is typed by hand."""

from __future__ import annotations

from collections.abc import Sequence

from campaign import Campaign, Measured
from extras import Machine, Memory
from machine import cores, description, versions
from pages import Cells, table
from problem import SIZES
from rows import BY_KEY, GOALS, OWN_PIXELS_PER_FWHM, ROUNDS, ours

_RATIOS = {
    "PyTorch FFT": "torch fft",
    "JAX FFT": "jax fft",
    "PyTorch direct": "torch direct",
    "Numba direct": "numba direct",
    "Taichi autodiff": "taichi",
}


def milliseconds(seconds: float) -> str:
    """Three digits."""
    ms = 1e3 * seconds
    return f"{ms:,.0f}" if ms >= 100 else f"{ms:.3g}"


def main_table(campaign: Campaign, device: str = "cpu") -> str:
    """All rows, a column for every number of threads. (ours) is what × is relative to."""
    groups = [g for g in campaign.groups if g.device == device]
    threads = sorted({g.threads for g in groups})
    head = ["size", "who", "grid"]
    for n in threads:
        where = "GPU" if device != "cpu" else f"{n} thread{'s' * (n > 1)}"
        head += [f"{where}, ms", "×"]
    head += ["dose", "loss", "gradient", "its largest"]
    sizes = [name for name in SIZES if any(g.size == name for g in groups)]
    body = []
    for size in sizes:
        of_size = {g.threads: campaign.groups[g] for g in groups if g.size == size}
        for row in campaign.rows(size, device):
            found = {n: of_size[n][row.key] for n in of_size if row.key in of_size[n]}
            if found:
                base = {n: of_size[n].get(_ours(campaign, size, device)) for n in found}
                body.append(_line(size, found, base, threads))
    return table(head, body)


def _ours(campaign: Campaign, size: str, device: str) -> str:
    return ours(size, campaign.profile) if device == "cpu" else "ours direct"


def _line(
    size: str, found: dict[int, Measured], base: dict[int, Measured | None], threads: Sequence[int]
) -> Cells:
    one = next(iter(found.values()))
    line = [size, one.row.label + " (ours)" * (base[min(found)] in found.values()), _grid(size, one)]
    for n in threads:
        if n not in found:
            line += ["", ""]
            continue
        measured, reference = found[n], base[n]
        line.append(milliseconds(measured.median) + "*" * (size in measured.row.some))
        line.append(f"{measured.median / reference.median:.2f}" if reference else "")
    errors = {name: max(m.errors[name] for m in found.values()) for name in one.errors}
    return line + [f"{errors[name]:.0e}" for name in ("dose", "loss", "gradient", "gradient_max")]


def _grid(size: str, measured: Measured) -> str:
    modes = f", {measured.modes[0]}² modes" if measured.modes else ""
    return f"{measured.row.pixels(size)}²{modes}"


def ratio_table(campaign: Campaign) -> str:
    """What the peers take ÷ what laserpath takes."""
    body = []
    for group, measured in campaign.groups.items():
        base = measured.get(ours(group.size, campaign.profile))
        if group.device != "cpu" or base is None:
            continue
        peers = [measured.get(key) for key in _RATIOS.values()]
        ratios = [f"{peer.median / base.median:.1f}" if peer else "" for peer in peers]
        body.append([group.size, str(group.threads), milliseconds(base.median), *ratios])
    return table(["size", "threads", "laserpath, ms", *_RATIOS], body)


def goal_table(campaign: Campaign) -> str:
    """Against the best of PyTorch and JAX: on the row's pixels, which is the goal, and on our grid."""
    body = []
    for group, measured in campaign.groups.items():
        base = measured.get(ours(group.size, campaign.profile))
        fine = _best(measured, coarse=False)
        if group.device != "cpu" or base is None or fine is None:
            continue
        times = fine.median / base.median
        same = _best(measured, coarse=True) if base.row.coarse else fine
        body.append(
            [
                group.size,
                str(group.threads),
                f"≥ {GOALS[group.size]:g}×",
                f"{times:.1f}×",
                "met" if times >= GOALS[group.size] else "missed",
                f"{fine.row.label}, {milliseconds(fine.median)} ms",
                f"{same.median / base.median:.1f}×" if same else "",
            ]
        )
    head = ["size", "threads", "goal", "measured", "", "best of PyTorch and JAX", "on our grid"]
    return table(head, body)


def _best(measured: dict[str, Measured], coarse: bool) -> Measured | None:
    peers = [
        m for m in measured.values() if m.row.key.startswith(("torch", "jax")) and m.row.coarse == coarse
    ]
    return min(peers, key=lambda m: m.median, default=None)


def machine_table(campaign: Campaign, machines: dict[int, Machine]) -> str:
    """Which part of the measured bandwidth and FFT speed the result is."""
    body = []
    for group, measured in campaign.groups.items():
        one = measured.get(ours(group.size, campaign.profile))
        if group.device != "cpu" or one is None or group.threads not in machines:
            continue
        machine = machines[group.threads]
        rate = (one.bytes or 0) / one.median
        transforms = sum(machine.fft[shape] for shape in map(tuple, one.fft_shapes))
        body.append(
            [
                group.size,
                str(group.threads),
                f"{(one.bytes or 0) / 2**20:.0f} MiB",
                f"{rate / 1e9:.1f} of {machine.bandwidth / 1e9:.1f} GB/s",
                f"{rate / machine.bandwidth:.0%}",
                f"{milliseconds(transforms)} of {milliseconds(one.median)} ms" if transforms else "no FFT",
                f"{transforms / one.median:.0%}" if transforms else "",
            ]
        )
    return table(["size", "threads", "must move", "memory", "", "FFTs alone", ""], body)


def memory_table(memories: Sequence[Memory]) -> str:
    """Peak memory in grids of float32."""
    body = [
        [
            one.size,
            f"{BY_KEY[one.key].pixels(one.size)}²",
            f"{one.bytes / 2**20:.1f} MiB",
            f"{one.bytes / 4 / BY_KEY[one.key].pixels(one.size) ** 2:.1f}",
            f"{one.bytes / 4 / SIZES[one.size].pixels ** 2:.1f}",
        ]
        for one in memories
    ]
    return table(["size", "our grid", "peak", "in our grids", "in the row's grids"], body)


def document(campaign: Campaign, machines: dict[int, Machine], memories: Sequence[Memory], gpu: str) -> str:
    """Everything that was measured, in Markdown."""
    sizes = {group.size for group in campaign.groups}
    rounds = ", ".join(f"{n} calls for {size}" for size, n in ROUNDS.items() if size in sizes)
    parts = [
        f"{description()}. {versions()}. Threads: 1 and all {len(cores())}. Medians of {rounds}, "
        f"after a warm-up. laserpath's own grid has about {OWN_PIXELS_PER_FWHM:g} pixels a FWHM.",
        main_table(campaign),
        "(ours): what × is relative to. *: extrapolated from some of the points, "
        + _some_points(campaign)
        + ".",
        "How many times as long the peers take as laserpath:",
        ratio_table(campaign),
        "Against the goals:",
        goal_table(campaign),
    ]
    if machines:
        parts += ["What the machine could do:", machine_table(campaign, machines)]
    if memories:
        parts += ["Peak memory (goal: at most 8 grids):", memory_table(memories)]
    parts += [gpu] if any(g.device == "cpu" for g in campaign.groups) else []
    parts += [
        f"Not measured: {why} ({g.size}, {g.threads} threads)." for (g, _), why in campaign.failed.items()
    ]
    return "\n\n".join(parts)


def _some_points(campaign: Campaign) -> str:
    """Whose, how many."""
    sizes = {g.size for g in campaign.groups}
    named = [
        f"{row.label} {size}: {row.some[size]:,}"
        for row in campaign.all_rows()
        for size in SIZES
        if size in sizes and size in row.some
    ]
    return ("; ".join(named)) or "none here"
