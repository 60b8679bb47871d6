"""The steps of a plan, by the names that `Progress` and forecasts have, and what each of them is."""

from __future__ import annotations

from enum import StrEnum


class PlanPart(StrEnum):
    """A step, in the order in which a plan takes them.

    label: what the user reads.  solving: whether each further plan for a tolerance takes it again.
    ending: whether the optimiser has ended, and can no longer be stopped early.
    """

    START = "start", "starting"
    FIT = "fit", "fitting strokes"
    TRY = "try", "trying curves"
    FIND = "find", "finding", True
    SHAPE = "shape", "shaping", True
    SIMPLIFY = "simplify", "simplifying", True
    REFINE = "refine", "refining", True
    EXECUTE = "execute", "learning the machine", True
    LEVELS = "levels", "choosing powers", True
    PLACE = "place", "placing", True
    CONVERT = "convert", "correcting by conversion", True
    MEASURE = "measure", "measuring", False, True
    LIMIT = "limit", "computing the spot's limit", False, True
    DIM = "dim", "dimming for the light from above", False, True
    SENSITIVITY = "sensitivity", "sensitivity"
    REPORT = "report", "writing the report", False, True

    label: str
    solving: bool
    ending: bool

    def __new__(cls, name: str, label: str, solving: bool = False, ending: bool = False) -> PlanPart:
        """A member that is equal to its name."""
        made = str.__new__(cls, name)
        made._value_ = name
        made.label, made.solving, made.ending = label, solving, ending
        return made

    def __repr__(self) -> str:
        return repr(self.value)


SOLVING = tuple(step for step in PlanPart if step.solving)
ENDING = tuple(step for step in PlanPart if step.ending)
_LABELS = {step.value: step.label for step in PlanPart}


def label_of(name: str) -> str:
    """What the user reads of a step; of one that is not in `PlanPart`, its name."""
    return _LABELS.get(name, name)
