"""What was compared, as Markdown for the terminal and for docs/compare.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from exposed import Compared, Print, geometric_mean
from pages import Cells, table

from laserpath import __version__


def document(all_of: Sequence[Compared], pictures: Iterable[str] = ()) -> str:
    """The whole result."""
    parts = [
        f"laserpath {__version__}, {len(all_of)} designs, quality `standard`, as executed.",
        "### Plan ÷ best baseline",
        _ratios(all_of),
        "EPE in FWHM. ÷ hatch: against the hatch of FWHM/2. Best: the baseline of the lowest mean EPE.",
        *pictures,
        "### All figures",
        _figures(all_of),
        "EPE in FWHM; PV band ÷ (perimeter × FWHM); dose in critical doses; lines that move the head.",
        "### What the limit does not print",
        _unprintable(all_of),
    ]
    return "\n\n".join(parts)


def _ratios(all_of: Sequence[Compared]) -> str:
    """A row a design, and the geometric means."""
    head = ("design", "best baseline", "mean EPE: plan", "best", "limit", "plan ÷ best", "limit ÷ best",
            "plan ÷ limit", "PV band: plan ÷ best", "write time, s: plan", "best", "plan ÷ best", "÷ hatch",
            "missing: plan / best / limit", "largest dose: plan / best / limit")  # fmt: skip
    body, ratios = [], []
    for c in all_of:
        plan, best, limit = (p.figures for p in (c.plan, c.best, c.limit))
        row = [
            plan.epe_mean / best.epe_mean, limit.epe_mean / best.epe_mean, plan.epe_mean / limit.epe_mean,
            plan.pv_band / best.pv_band, c.plan.write_time / c.best.write_time,
            c.plan.write_time / c.common.write_time if c.common else float("nan"),
        ]  # fmt: skip
        ratios.append(row)
        epe, limit_epe, both, pv, pace, hatch = (f"{x:.2f}" for x in row)
        body.append((
            c.design.name, c.best.name,
            f"{plan.epe_mean:.4f}", f"{best.epe_mean:.4f}", f"{limit.epe_mean:.4f}",
            epe, limit_epe, both, pv, f"{c.plan.write_time:.2f}", f"{c.best.write_time:.2f}", pace, hatch,
            f"{plan.missing_edges} / {best.missing_edges} / {limit.missing_edges}",
            f"{plan.dose_max:.2f} / {best.dose_max:.2f} / {limit.dose_max:.2f}",
        ))  # fmt: skip
    means = [geometric_mean([x for x in column if np.isfinite(x)]) for column in zip(*ratios, strict=True)]
    epe, limit_epe, both, pv, pace, hatch = (f"**{x:.2f}**" for x in means)
    body.append(("**geometric mean**", "", "", "", "", epe, limit_epe, both, pv, "", "", pace, hatch, "", ""))
    return table(head, body)


def _figures(all_of: Sequence[Compared]) -> str:
    """Three rows a design."""
    head = ("design", "what", "EPE: mean", "p95", "max", "missing", "PV band", "largest dose", "IoU",
            "overcured, mm²", "write time, s", "lines", "planned in, s")  # fmt: skip
    body = []
    for c in all_of:
        for k, one in enumerate((c.plan, c.best, c.limit)):
            body.append((c.design.name if k == 0 else "", *_row(one), f"{c.seconds:.1f}" if k == 0 else ""))
    return table(head, body)


def _row(one: Print) -> Cells:
    f = one.figures
    path = (f"{one.write_time:.2f}", str(one.lines)) if one.lines else ("", "")
    return (
        one.name, f"{f.epe_mean:.4f}", f"{f.epe_p95:.3f}", f"{f.epe_max:.2f}",
        f"{f.missing_edges} of {f.samples}", f"{f.pv_band:.3f}", f"{f.dose_max:.2f}", f"{f.iou:.4f}",
        f"{f.overcure:.4f}", *path,
    )  # fmt: skip


def _unprintable(all_of: Sequence[Compared]) -> str:
    """A line for each design and sentence that is more than rounded corners."""
    lines = [
        f"- {c.design.name}: {sentence}"
        for c in all_of
        for sentence in c.unprintable
        if " corner" not in sentence
    ]
    return "\n".join(lines) or "Nothing but the tips of corners."
