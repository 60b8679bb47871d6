"""What came of a relief, in a sentence."""

from __future__ import annotations

from laserpath.planning.relief.walk import ReliefPlan


def in_words(plan: ReliefPlan) -> str:
    """`0.9 % of black, 95 % within 2.1 %; as commanded 0.5 %.`"""
    what = "height" if plan.relief.height is not None else "dose"
    executed, commanded = plan.executed, plan.commanded
    return (
        f"The {what} is off by {100 * executed.rmse:.2g} % of black (root mean square), "
        f"95 % of the picture by less than {100 * executed.p95:.2g} %; "
        f"as commanded by {100 * commanded.rmse:.2g} % and {100 * commanded.p95:.2g} %."
    )
