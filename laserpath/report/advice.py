"""Advice: for each figure of a plan that falls short, the option or profile key that improves it.

Each piece of advice names the fault and the change, the latter as it is typed: `--pitch 1.2fwhm` on the
command line, `speed_max_mm_per_min = 600` in a machine's profile. The most important comes first, and advice
that opposes a more important one is dropped. A program of another tool has no options; advice on it is about
the program itself.

Sensitivity: what a print depends on most, what to do about it, and what would help the machine. First comes
what may be wrong without the user's knowledge: a setting of the controller, the link, the light of its
levels. A feed override is 100 % unless somebody turns it, so it has a sentence of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gcode
from laserpath.base.arrays import Floats
from laserpath.base.entry_points import QUALITIES
from laserpath.base.errors import figure
from laserpath.machine import convert
from laserpath.machine.attenuation import FEW_LEVELS, filter_of, median_level, strength
from laserpath.measure.exposure import SLOWER, calm_speed, speed_key
from laserpath.physics import optics
from laserpath.report import wording
from laserpath.report.data import PageData
from laserpath.report.wording import duration, number
from laserpath.types import Machine, Process, Settings
from laserpath.types.results import WORTH, Sensitivity, Variation

_FELT = 0.05
"""Rise of the mean edge error by the worst disturbance, as a share: up to it a print is not sensitive."""

_LOST_FWHM = 0.3
"""Mean edge error as planned, in FWHM, from which the print is lost anyway. A point without an edge counts as
2, so that this is some 15 % of the outline. A larger one judges the sensitivity of worse prints."""

_TOPICS = {
    "acceleration": "acceleration",
    "junction": "speed in bends",
    "link": "the link",
    "host": "how soon the host answers",
    "moments": "the moments at which the host answers",
    "light": "the light of its power levels",
    "pulses": "the phase of the laser's pulses",
    "delay": "a late laser",
    "shaper": "the input shaper",
    "backlash": "slack of the axes",
}

_PLURAL = ("levels", "steps")


def headline(sensitivity: Sensitivity, process: Process) -> str:
    """The worst disturbance, by how much it spoils the edges, and what to do; then what an override does."""
    if not sensitivity.disturbed:
        return "Nothing was disturbed."
    before = sensitivity.planned.epe_mean
    if before >= _LOST_FWHM:
        off = f"{number(1000 * optics.fwhm(process.spot) * before, 2)} µm"
        return (
            f"The print is lost even if the machine is as planned: its edges are {off} off on average. Mend "
            "that first; until then disturbances say little."
        )
    sentences = (
        _on_machine(sensitivity, process),
        _on_moments(sensitivity),
        _on_override(sensitivity, process),
    )
    return " ".join(filter(None, sentences))


def _on_machine(sensitivity: Sensitivity, process: Process) -> str:
    worst, before = sensitivity.worst, sensitivity.planned.epe_mean
    if worst is None:
        return ""
    if not _felt(worst, before):
        more = f"more than {100 * _FELT:.0f} %"
        return f"Hardly sensitive to the machine: no wrong setting raises the mean edge error by {more}."
    return (
        f"Most sensitive to {_TOPICS[worst.cause]}: with {worst.change} the mean edge error rises from "
        f"{_from_to(before, worst.figures.epe_mean, process)}. {_remedy(worst, process)}"
    )


def _on_moments(sensitivity: Sensitivity) -> str:
    """What is known of the largest dose where lines are sent one by one."""
    if sensitivity.doses is None:
        return ""
    low, high = map(number, sensitivity.doses)
    if low == high:
        return ""
    return (
        "Sent line by line, the head stops where tenths of a millisecond decide: the largest dose is "
        f"{low} to {high} × critical."
    )


def _on_override(sensitivity: Sensitivity, process: Process) -> str:
    worst, before = sensitivity.worst_override, sensitivity.planned.epe_mean
    if worst is None or not _felt(worst, before):
        return ""
    return (
        f"Leave the feed override at 100 %: {worst.change.removeprefix('a feed override of ')} would take it "
        f"from {_from_to(before, worst.figures.epe_mean, process)}."
    )


def _felt(one: Variation, before: float) -> bool:
    return one.figures.epe_mean > (1 + _FELT) * before


def help_in_words(sensitivity: Sensitivity, process: Process) -> tuple[str, ...]:
    """A sentence for each change of the machine that helps, the best first; one if none does.

    Empty if no change was tried.
    """
    if not sensitivity.improved:
        return ()
    helpful = sensitivity.helpful
    if not helpful:
        least = f"more than {100 * WORTH:.0f} %"
        tried = ", ".join(one.change for one in sensitivity.improved)
        return (f"Nothing that was tried would lower the mean edge error by {least}: {tried}.",)
    return tuple(_helps(one, sensitivity, process) for one in helpful)


def _helps(one: Variation, sensitivity: Sensitivity, process: Process) -> str:
    before, after = sensitivity.planned, one.figures
    verb = "take" if one.cause in _PLURAL else "takes"
    change = one.change[0].upper() + one.change[1:]
    text = f"{change} {verb} the mean edge error from {_from_to(before.epe_mean, after.epe_mean, process)}"
    if abs(after.write_time / before.write_time - 1) > WORTH:
        text += f", and the write time from {duration(before.write_time)} to {duration(after.write_time)}"
    return text + "."


def _from_to(before: float, after: float, process: Process) -> str:
    """`1.9 to 9.3 µm`. before, after: FWHM."""
    scale = 1000 * optics.fwhm(process.spot)
    first, last = number(scale * before, 2), number(scale * after, 2)
    if first == last:
        first, last = number(scale * before, 3), number(scale * after, 3)
    return f"{first} to {last} µm"


def _remedy(worst: Variation, process: Process) -> str:
    settings = gcode.dialect(process.machine.dialect).firmware.setting_of
    setting = settings.get(worst.cause, "the controller's own setting")
    return {
        "acceleration": f"Keep the profile's acceleration equal to {setting}.",
        "junction": f"Keep what the profile says of it equal to {setting}.",
        "link": "Use a sender that keeps the controller's buffer full, at the profile's baud rate.",
        "host": "Set the latency timer of its USB bridge to 1 ms, or state host_delay_ms in the profile.",
        "moments": "Use a sender that counts characters, or a card.",
        "delay": "Unless you have, measure laser_delay_ms with the chart, and state it in the profile.",
        "shaper": "State the controller's input shaper in the profile, or turn it off in both.",
        "backlash": "Tighten the axes, or measure backlash_mm, and state it in the profile.",
        "pulses": "A faster PWM, or a filter, behind which pulses are longer, leaves less to their phase.",
        "light": "Unless you have, measure level_offset with the chart, and state it in the profile.",
    }[worst.cause]


def sensitivity_as_dict(sensitivity: Sensitivity, process: Process) -> dict[str, Any]:
    """The figures and the sentences on them, for JSON; edge errors in FWHM."""
    words = {"headline": headline(sensitivity, process), "help": list(help_in_words(sensitivity, process))}
    return {**words, **sensitivity.as_dict()}


def rows(sensitivity: Sensitivity, process: Process) -> dict[str, list[tuple[str, ...]]]:
    """Heading → rows of cells: the change, mean edge error, missing edges, largest dose, write time."""
    groups = {"Disturbed": sensitivity.disturbed, "Learned for a better machine": sensitivity.improved}
    planned = Variation("", "As planned", sensitivity.planned)
    return {
        "": [_cells(planned, process)],
        **{title: [_cells(one, process) for one in some] for title, some in groups.items() if some},
    }


COLUMNS = ("Machine", "mean edge error", "missing edges", "largest dose", "write time")
"""The headings of the cells."""


def _cells(one: Variation, process: Process) -> tuple[str, ...]:
    figures = one.figures
    epe = f"{number(1000 * optics.fwhm(process.spot) * figures.epe_mean, 2)} µm"
    dose = f"{number(figures.dose_max)} ×" if math.isfinite(figures.dose_max) else "–"
    return one.change, epe, str(figures.missing_edges), dose, duration(figures.write_time)


KINDS = (
    "lost", "hollow", "over-dose", "feature", "gap", "corner", "too strong", "too weak", "loss", "steps",
    "brakes", "dose rises", "link", "bends", "finer", "faster",
)  # fmt: skip
"""The kinds of advice."""

_PITCH_FWHM, _EVEN_FWHM = 1.2, 0.8
"""Pitches: the largest at which lines fill an area; the one at which the dose of equal lines is even to 1 %,
so that a smaller one closes nothing more. With a Gaussian spot it varies by ± 2 exp(−2 (0.425 π/pitch)²)."""
_ITERATIONS = 300
"""Iterations that suffice for most plans; the optimiser stops by itself when the loss is flat."""
_SHORT = 100
"""Iterations below which a flat loss does not show convergence, because each stage is too short."""
_FEW, _FALLING = 20, 0.02
"""Iterations from which the fall of the loss is judged; relative fall in the last tenth that makes more
iterations worthwhile. A larger fall advises them less often."""
_COARSE_FWHM = 0.05
"""Motor step that moves edges visibly."""
_ROUNDED = 0.5
"""Mean edge error away from corners ÷ motor step, up to which rounding to steps can be the reason: no place
is rounded by more than half a step."""
_LONG, _VERY_LONG = 5.0, 60.0
"""Write times, s, above which braking is named, and a faster quality is advised. Larger ones advise less
often."""
_FILTER, _STRONGER, _CALMER = 1.0, 2.0, 0.5
"""Optical density advised for a laser too strong, unless a single line needs more; factor on the power of one
too weak; factor on the speed if the controller brakes."""
_WORTH_FWHM = 0.02
"""Mean edge error as executed, in FWHM, below which `fine` gains nothing: power levels and braking cause the
rest (samples: 0.008 → 0.009 and 0.014 → 0.014, against 0.031 → 0.026, 0.033 → 0.023 and 0.059 → 0.050)."""


@dataclass(frozen=True, slots=True)
class Change:
    """name: an option or profile key as it is typed, or another quantity.  way: +1 more of it, −1 less."""

    name: str
    way: int

    def opposes(self, other: Change) -> bool:
        """Whether the two changes exclude each other."""
        return self.name == other.name and self.way != other.way


@dataclass(frozen=True, slots=True)
class Advice:
    """kind: of `KINDS`.  wrong: the fault.  mend: the remedy, in words; changes: the remedy, by name."""

    kind: str
    wrong: str
    mend: str
    changes: tuple[Change, ...]

    @property
    def sentence(self) -> str:
        """The advice as the page shows it."""
        return f"{self.wrong}: {self.mend}."

    def opposes(self, other: Advice) -> bool:
        """Whether following one undoes the other."""
        return any(one.opposes(two) for one in self.changes for two in other.changes)


def advise(data: PageData, level: str) -> tuple[Advice, ...]:
    """The advice on a plan, the most important first. level: of the verdict."""
    if few := tuple(_on_levels(data, level)):
        # Neither closer lines, nor more iterations, nor a slower head make up for levels that are too coarse.
        return (*few, *_on_design(data))
    early = tuple(_on_iterations(data, level))
    if lost := data.lost:
        # The dose aimed at would cure, so pitch and power are right; the execution is at fault.
        wrong = lost.wrong[0].upper() + lost.wrong[1:]
        # A laser whose lowest level is too bright for the lines loses them too, and braking is not to blame.
        strong = tuple(one for one in _on_power(data) if one.kind == "too strong")
        braked = (Advice("lost", wrong, lost.mend, (_slower(),)),) if lost.mend else ()
        # What is much finer than the spot is lost by the least deviation.
        fine = tuple(one for one in _on_design(data) if one.kind in ("feature", "gap"))
        return (*early, *fine, *(strong or braked))
    kept: list[Advice] = []
    for one in (*early, *_on_area(data), *_on_design(data), *_on_power(data), *_on_motion(data, level),
                *_on_quality(data, level)):  # fmt: skip
        repeated = early and one not in early and one.changes == early[0].changes
        if not repeated and not any(one.opposes(graver) for graver in kept):
            kept.append(one)
    return tuple(kept)


def _on_levels(data: PageData, level: str) -> Iterator[Advice]:
    """A laser of which too few levels are usable, so that nothing else helps before a filter."""
    laser = strength(data.process, data.settings or Settings(), data.design)
    if data.settings and level != "good" and laser.poor:
        why = laser.sentence(f"a line of {number(1000 * data.fwhm)} µm")
        yield _weaker(data, f"The laser is too strong for this resin: {why}")


def _slower() -> Change:
    return Change("speed_max_mm_per_min", -1)


def _on_iterations(data: PageData, level: str) -> Iterator[Advice]:
    """An optimiser that ended too early, so that more iterations may mend other faults too."""
    gain, settings = _late_gain(data.loss), data.settings
    if settings is None:
        return
    # Of a resin with kinetics the loss is of the dose, and what follows it corrects the conversion.
    if data.process.resin.kinetics is not None and not data.report.stopped:
        return
    changes = (Change("--iterations", 1),)
    if unfinished(data) and level != "good":
        mend = "let it run to its end" if data.report.stopped else f"take {_more(settings)}"
        yield Advice("loss", unfinished(data), f"{mend} before anything else", changes)
    elif gain > _FALLING and not data.report.stopped:
        wrong = (
            f"The loss was still falling when the optimiser stopped ({100 * gain:.0f} % in the last tenth)"
        )
        yield Advice("loss", wrong, f"take {_more(settings)}", changes)


def unfinished(data: PageData) -> str:
    """A sentence if the optimiser ended too early, which may be why the print is off; else ''."""
    report, settings = data.report, data.settings
    if settings is None or not report.unfinished:
        return ""
    if report.stopped:
        return f"The optimiser was {report.unfinished}, which may be why it misses"
    if settings.iterations >= _SHORT and _late_gain(data.loss) <= _FALLING:
        return ""
    return f"The optimiser did not converge ({report.unfinished}), which may be why it misses"


def _on_area(data: PageData) -> Iterator[Advice]:
    """Areas that stay unexposed inside, and areas that get far too much dose."""
    settings, resin = data.settings, data.process.resin
    inspection = data.inspection
    holes = tuple(one for one in inspection.flaws if one.kind == "pinhole")
    if inspection.missing or holes:
        much = wording.too_much_wrong(inspection, data.fwhm) or not holes
        wrong = "Lines are too far apart or too weak inside the design" if much else (
            f"Left inside the design: {', '.join(wording.kinds(holes, data.fwhm))}"
        )  # fmt: skip
        if settings is None:
            change, mend = Change("distance of lines", -1), "lines closer together, or more power, close it"
        elif settings.pitch_fwhm > _PITCH_FWHM:
            change, mend = Change("--pitch", -1), f"take --pitch {_PITCH_FWHM:g}fwhm"
        elif settings.iterations < _ITERATIONS:
            change, mend = Change("--iterations", 1), f"take {_more(settings)}"
        elif settings.pitch_fwhm > _EVEN_FWHM:
            change, mend = Change("--pitch", -1), f"take --pitch {_EVEN_FWHM:g}fwhm"
        else:
            change = None
        if change:
            yield Advice("hollow", wrong, mend, (change,))
    dose = data.report.executed.figures.dose_max
    # The optimiser lowers the power of close lines as far as the laser can; `_on_power` handles the rest.
    if settings is None and dose > 1.05 * resin.over_dose:
        wrong = (
            f"The largest dose is {number(dose)} × critical, above the resin's limit of {resin.over_dose:g} "
            "×, because lines lie too close there"
        )
        change = Change("distance of lines", 1)
        yield Advice("over-dose", wrong, "lines further apart, or less power, spread it", (change,))


def _more(settings: Settings) -> str:
    return f"--iterations {max(_ITERATIONS, 2 * settings.iterations)}"


def _on_design(data: PageData) -> Iterator[Advice]:
    """Details that are too small for the spot."""
    spot = f"{number(data.fwhm * 1000)} µm"
    smaller = (Change("--spot-fwhm", -1),)
    for kind, plural in (("feature", "features"), ("gap", "gaps")):
        width = [p.width for p in data.places if p.kind == kind and p.width is not None and p.narrower]
        if width:
            yield Advice(
                kind,
                f"The {plural} at worst places are narrower than the spot of {spot}, down to "
                f"{number(min(width) * 1000)} µm",
                "widen them, or focus to a smaller spot and give its width with --spot-fwhm",
                (*smaller, Change("the design", 1)),
            )
    corners = sum(p.kind == "corner" for p in data.places)
    if corners > len(data.places) / 2:
        yield Advice(
            "corner",
            f"The worst places are corners, which a spot of {spot} rounds",
            "only a smaller one, whose width you give with --spot-fwhm, prints them sharper",
            smaller,
        )


def _on_power(data: PageData) -> Iterator[Advice]:
    """A laser that is too strong or too weak for the resin."""
    machine = data.process.machine
    light = convert.as_light(data.toolpath, machine)
    length, power = light.length[light.on], light.power[light.on]
    whole = max(float(length.sum()), 1e-12)
    weak = float(length[power <= 1.001 * machine.power_min].sum()) / whole
    strong = float(length[power >= 0.999 * machine.power_max].sum()) / whole
    if weak > 0.25 and data.report.executed.figures.dose_max > 1:
        yield _weaker(
            data,
            f"{100 * weak:.0f} % of the path runs at the laser's lowest power "
            f"({number(machine.power_min)} mW): the laser is too strong for this resin",
        )
    elif (level := median_level(data.toolpath, machine)) < FEW_LEVELS and (error := _lost_edges(data)):
        yield _weaker(
            data,
            f"Half of the path runs at level {level:g} of {machine.power_levels} or below, where the next "
            f"one is {100 * (machine.power_of(level + 1) / machine.power_of(level) - 1):.0f} % brighter: "
            f"the laser is too strong for this resin, which moves the edge by {error}",
        )
    if strong > 0.5:
        yield Advice(
            "too weak",
            f"{100 * strong:.0f} % of the path runs at full power",
            "a stronger laser would write faster, say "
            + _in_profile(f"power_max_mW = {float(f'{_STRONGER * machine.power_max:.3g}'):g}"),
            (Change("power_max_mW", 1),),
        )


def _weaker(data: PageData, wrong: str) -> Advice:
    """The advice to use a filter; that of the warning, if there is one."""
    needed = strength(data.process, data.settings or Settings(), data.design)
    mend = filter_of(needed.machine, max(needed.density, 0.0 if needed.poor else _FILTER))
    return Advice("too strong", wrong, _in_profile(mend), (Change("power_max_mW", -1),))


def _late_gain(loss: Floats) -> float:
    """The relative fall of the loss in the last tenth of the iterations, whatever earlier stages gained."""
    late = loss[-1 - len(loss) // 10 :]
    return float(1 - late.min() / late[0]) if len(loss) >= _FEW and late[0] > 0 else 0.0


def _in_profile(setting: str) -> str:
    return f"{setting} in the machine's profile"


def _on_motion(data: PageData, level: str) -> Iterator[Advice]:
    """Effects of the controller: motor steps, braking, and the number of moves."""
    motion, machine = data.report.executed.motion, data.process.machine
    carried = convert.segment_rate(machine)
    yield from _on_braking(data, level)
    if not data.planned and motion.segment_rate > 1.001 * carried:
        yield Advice(
            "link",
            f"The program has up to {motion.segment_rate:.0f} moves/s, above the {carried:.0f} "
            "that the link keeps up with",
            "a lower feed, with less power, needs fewer",
            (Change("feed", -1),),
        )
    if motion.write_time > 2 * motion.ideal_time and motion.write_time > _LONG:
        yield Advice(
            "bends",
            f"The controller needs {motion.write_time / max(motion.ideal_time, 1e-9):.1f} times the "
            "ideal time, because of bends and short moves",
            "if the machine can, a larger acceleration_mm_per_s2 in its profile saves much of it",
            (Change("acceleration_mm_per_s2", 1),),
        )


def _lost_edges(data: PageData) -> str:
    """The mean edge error as executed and as commanded, if execution is what spoils it; else ''."""
    if data.report.commanded is None:
        return ""
    commanded, executed = data.report.commanded.figures, data.report.executed.figures
    if executed.epe_mean <= 1.5 * commanded.epe_mean + 0.01:
        return ""
    now, before = (data.micrometres(figures.epe_mean) for figures in (executed, commanded))
    return f"{now} on average instead of {before}"


def _on_braking(data: PageData, level: str) -> Iterator[Advice]:
    """Edges or doses that are right as commanded, but not as executed."""
    machine, over = data.process.machine, data.process.resin.over_dose
    if data.report.commanded is None or median_level(data.toolpath, machine) < FEW_LEVELS:
        return  # with so few levels braking is not to blame
    if steps := _rounded_edges(data):
        yield _on_steps(machine, steps)
        return
    commanded, executed = data.report.commanded.figures, data.report.executed.figures
    calmer = _calmer(data)
    if calmer and (error := _lost_edges(data)):
        yield Advice(
            "brakes",
            "The controller brakes in bends and its power does not follow exactly, which moves the edge "
            f"by {error}",
            *calmer,
        )
    elif calmer and level != "good" and executed.dose_max > max(1.05 * over, 1.1 * commanded.dose_max):
        yield Advice(
            "dose rises",
            f"Where the controller brakes the dose rises to {number(executed.dose_max)} × critical, above "
            f"the resin's limit of {over:g} ×",
            *calmer,
        )


def _rounded_edges(data: PageData) -> str:
    """How far off the edges are, if the motors' steps are coarse enough to be the reason; else ''.

    The print as commanded does not show it: a plan that was learned makes up for a part of the rounding, and
    one whose lines the steps keep where they are is as wrong as commanded.
    """
    figures, machine = data.report.executed.figures, data.process.machine
    if machine.steps is None or 1 / min(machine.steps) <= _COARSE_FWHM * data.fwhm:
        return ""
    step = 1 / (min(machine.steps) * data.fwhm)
    if _WORTH_FWHM < figures.epe_mean_smooth <= _ROUNDED * step:
        return f"the {data.micrometres(figures.epe_mean_smooth)} by which edges are off away from corners"
    return _lost_edges(data)


def _on_steps(machine: Machine, error: str) -> Advice:
    controller = convert.controller(machine)
    fewest = controller.shortest_steps
    joins = f", and {controller.title} joins moves of fewer than {fewest} steps" if fewest else ""
    return Advice(
        "steps",
        f"The motors' steps of {figure(1000 / min(machine.steps or (1.0,)))} µm round every place{joins}, "
        f"which is much of {error}",
        "more of them to the millimetre (finer microsteps, steps_per_mm in the machine's profile) draw truer",
        (Change("steps_per_mm", 1),),
    )


def _calmer(data: PageData) -> tuple[str, tuple[Change, ...]] | None:
    """Advice to go slower: in the machine's profile for a plan, in the program otherwise.

    None if it would change nothing: no line is written faster than that, or each has the power for the speed
    that it will really have. (A square on Marlin at most 50, 25 and 12.5 mm/s: off by 3.0, 3.3 and 3.8 µm.)
    """
    machine, path = data.process.machine, data.toolpath
    if not data.planned:
        return "a lower feed, with less power, makes it brake less", (Change("feed", -1),)
    if not convert.power_follows(machine):
        return None
    calm = min(_CALMER * min(machine.speed_max), calm_speed(machine, data.fwhm))
    if not path.on.any() or calm >= SLOWER * float(path.speed[path.on].max()):
        return None
    return f"{_in_profile(speed_key(calm))} makes it brake less", (_slower(),)


def _on_quality(data: PageData, level: str) -> Iterator[Advice]:
    """The next finer or faster quality; a plan with a tolerance chooses it by itself."""
    if data.settings is None or data.settings.max_epe_fwhm is not None:
        return
    quality, executed = QUALITIES.index(data.settings.quality), data.report.executed
    figures, motion = executed.figures, executed.motion
    worth = figures.epe_mean > _WORTH_FWHM and not wording.reached(data.report)
    if level == "fair" and quality + 1 < len(QUALITIES) and worth:
        better = QUALITIES[quality + 1]
        # At `fine` 95 % of the edge is farther off as often as not, at `standard` nearer than at `draft`.
        worst = ", if not at the worst places" if better == "fine" else ""
        yield Advice(
            "finer",
            f"The edge is {data.micrometres(figures.epe_mean)} off on average, as write time counts too",
            f"--quality {better} takes more of it for edges truer on average{worst}",
            (Change("--quality", 1),),
        )
    elif level == "good" and quality > 0 and motion.write_time > _VERY_LONG:
        yield Advice(
            "faster",
            f"If {duration(motion.write_time)} is too long",
            f"--quality {QUALITIES[quality - 1]} writes faster at the cost of the edge; --max-epe LENGTH "
            "takes as little as keeps that tolerance",
            (Change("--quality", -1),),
        )
