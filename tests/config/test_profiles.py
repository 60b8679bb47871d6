"""Profiles: TOML in people's units → laserpath's nouns, and clear sentences where that fails."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gcode
from laserpath.base.errors import InputError
from laserpath.config import profiles
from laserpath.config.profiles import writing
from laserpath.physics import optics
from laserpath.physics.resin import line_energy
from laserpath.types import Machine, Resin, Spot

LOADERS = {"machine": profiles.machine, "resin": profiles.resin, "spot": profiles.spot}
GOOD = {kind: profiles.text(kind, name) for kind, name in profiles.DEFAULTS.items()}


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def changed(kind: str, old: str, new: str) -> str:
    """The default profile's text with its line that starts with `old` replaced."""
    lines = GOOD[kind].splitlines()
    (index,) = [i for i, line in enumerate(lines) if line.startswith(old)]
    return "\n".join([*lines[:index], new, *lines[index + 1 :]])


def test_the_default_profiles_are_the_defaults_of_the_types() -> None:
    assert profiles.machine() == Machine()
    assert profiles.resin() == Resin()
    assert profiles.spot() == Spot()


@pytest.mark.parametrize("kind", LOADERS)
def test_every_profile_that_comes_along_loads(kind: str) -> None:
    assert profiles.DEFAULTS[kind] in profiles.names(kind)
    for name in profiles.names(kind):
        LOADERS[kind](name)


def test_the_positive_resist_is_positive() -> None:
    resist = profiles.resin("positive-photoresist")
    assert (resist.tone, resist.critical_dose) == ("positive", 1.0)


def test_the_working_curve_gives_the_critical_dose_of_the_layer(tmp_path: Path) -> None:
    example = profiles.resin("working-curve")
    assert example.critical_dose == pytest.approx(0.085 * math.exp(50 / 110))
    text = profiles.text("resin", "working-curve")
    thick = profiles.resin(write(tmp_path, text.replace("layer_um = 50", "layer_mm = 0.16")))
    assert thick.critical_dose == pytest.approx(math.e * example.critical_dose)


@pytest.mark.parametrize(
    ("order", "unit", "factor"),
    [(2, "mW2_s_per_um4", 1e12), (2, "mW2_s_per_mm4", 1), (3, "mW3_s_per_um6", 1e18)],
)
def test_a_dose_of_several_photons_has_the_unit_of_its_order(
    tmp_path: Path, order: int, unit: str, factor: float
) -> None:
    lines = f"critical_dose_{unit} = 0.25\nabsorption_order = {order}"
    resist = profiles.resin(write(tmp_path, changed("resin", "critical", lines)))
    assert (resist.order, resist.critical_dose) == (order, 0.25 * factor)


def test_the_two_photon_example_says_how_to_measure_its_number() -> None:
    """A lone line at the example's threshold has that dose, and the comment's constant is the right one."""
    resist, spot = profiles.resin("two-photon-resist"), Spot(0.3e-3, "gaussian", photons=2)
    x = np.linspace(-3, 3, 601) * spot.fwhm
    middle = optics.profile(spot, x).sum() * (x[1] - x[0])
    per_square = float(line_energy(1, 10, spot)) * middle
    assert per_square == pytest.approx(0.59 / 10 / spot.fwhm**3, rel=0.01)
    assert math.sqrt(resist.critical_dose / per_square) == pytest.approx(10, rel=0.05)  # mW


def test_a_resist_may_be_given_by_its_gamma(tmp_path: Path) -> None:
    resist = profiles.resin(write(tmp_path, changed("resin", "contrast", "gamma = 2.5")))
    assert resist.contrast == pytest.approx(4 * 2.5 / math.log(10))


@pytest.mark.parametrize("kind", LOADERS)
def test_a_copy_of_a_profile_is_the_same(kind: str, tmp_path: Path) -> None:
    path = write(tmp_path, GOOD[kind])
    assert LOADERS[kind](path) == LOADERS[kind](str(path)) == LOADERS[kind]()


@pytest.mark.parametrize(
    ("old", "new", "field", "value"),
    [
        ("speed_max", "speed_max_mm_per_s = [40, 30.5]", "speed_max", (40.0, 30.5)),
        ("speed_max", "speed_max_mm_per_min = 1500", "speed_max", (25.0, 25.0)),
        ("power_max", "power_max_W = 0.5", "power_max", 500.0),
        ("junction", "junction_deviation_um = 20", "junction_deviation", 0.02),
        ("level_min", "", "level_min", 1),
        ("level_min", "level_offset = 1.5", "level_offset", 1.5),
        ("level_min", "pwm_period_us = 200", "pwm_period", 0.0002),
        ("level_min", "laser_delay_ms = 1.5", "laser_on_delay", 0.0015),
        ("level_min", "laser_delay_us = 900", "laser_off_delay", 0.0009),
        ("level_min", "backlash_um = [30, 80]", "backlash", (0.03, 0.08)),
        ("power_levels", "power_levels = 1000.0", "power_levels", 1000),
    ],
)
def test_units_are_converted_at_the_door(
    tmp_path: Path, old: str, new: str, field: str, value: object
) -> None:
    machine = profiles.machine(write(tmp_path, changed("machine", old, new)))
    assert getattr(machine, field) == value
    assert type(getattr(machine, field)) is type(value)


def test_shrinkage_bias_and_bottom_layers_of_a_resin(tmp_path: Path) -> None:
    keys = "shrinkage_percent = [1, 1, 0.5]\ndevelopment_bias_um = -3\n"
    keys += "bottom_layers = 4\nbottom_exposure = 2.5\n"
    made = profiles.resin(write(tmp_path, f'tone = "negative"\ncritical_dose_mJ_per_cm2 = 20\n{keys}'))
    assert (made.shrinkage, made.development_bias) == ((0.01, 0.01, 0.005), -0.003)
    assert (made.bottom_layers, made.bottom_exposure) == (4, 2.5)
    text = writing.text(made)
    assert "shrinkage_percent = [1, 1, 0.5]" in text
    assert profiles.resin(write(tmp_path, text)) == made
    assert not any(key in writing.text(Resin()) for key in ("shrinkage", "bottom"))


def test_a_spot_from_aperture_and_wavelength(tmp_path: Path) -> None:
    assert profiles.spot(write(tmp_path, "na = 0.1\nwavelength_nm = 405")).fwhm == pytest.approx(
        0.5145 * 405e-6 / 0.1, rel=1e-4
    )


@pytest.mark.parametrize(
    ("kind", "old", "new", "words"),
    [
        ("machine", "s_max", "smax = 1000", "key 'smax' is unknown; did you mean s_max"),
        ("machine", "speed_max", "speed_max = 50",
         "key 'speed_max' is unknown; did you mean speed_max_mm_per_"),
        ("machine", "power_max", "power_max_mw = 10", "did you mean power_max_mW"),
        ("machine", "power_max", "", "key 'power_max_mW' is missing"),
        ("machine", "power_max", "power_max_mW = 10\npower_max_W = 1", "mean the same"),
        ("machine", "power_max", "power_max_mW = nan",
         "power_max_mW is nan, but must be a finite number above 0"),
        ("machine", "power_max", "power_max_mW = -inf",
         "power_max_mW is -inf, but must be a finite number above 0"),
        ("machine", "power_max", "power_max_mW = 0",
         "power_max_mW is 0, but must be a finite number above 0"),
        ("machine", "power_max", "power_max_mW = '10'", "power_max_mW is '10', but must be a number"),
        ("machine", "power_max", "power_max_mW = true", "power_max_mW is true, but must be a number"),
        ("machine", "power_max", "power_max_mW = [1, 2]", "power_max_mW is .* but must be a number"),
        ("machine", "size", "size_mm = [300, 200, 50]", "size_mm has 3 numbers"),
        ("machine", "size", "size_mm = [300, -200]", "size_mm is -200"),
        ("machine", "power_levels", "power_levels = 2.5", "power_levels is 2.5, but must be a whole number"),
        ("machine", "level_min", "level_min = 300", "level_min 300 is above power_levels 255"),
        ("machine", "level_min", "level_min = 4\nlevel_offset = -4",
         "level_offset is -4, but must be above -4, so that level_min 4 shines"),
        ("machine", "level_min", "pwm_period_s = 2", "pwm_period_s is 2, but must be at most 1 s"),
        ("machine", "level_min", "laser_delay_s = 2", "laser_delay_s is 2, but must be at most 1 s"),
        ("machine", "level_min", "laser_delay_ms = 2000",
         "laser_delay_ms is 2000, but must be at most 1000 ms"),
        ("machine", "level_min", "host_delay_ms = 2000",
         "host_delay_ms is 2000, but must be at most 1000 ms"),
        ("machine", "level_min", "backlash_um = [20, 3000]",
         "backlash_um is 3000, but must be at most 2000 um"),
        ("machine", "level_min", "laser_delay_ms = -1", "laser_delay_ms is -1"),
        ("machine", "level_min", "laser_delay_ms = 1\nlaser_off_delay_ms = 2",
         "gives laser_delay as well as laser_off_delay; give laser_delay, or laser_on_delay and laser_off_"),
        ("machine", "dialect", "dialect = 'klipper'\nshaper_type = 'zv'",
         "key 'shaper_freq_x_Hz' or 'shaper_freq_y_Hz' is missing, of shaper_type"),
        ("machine", "dialect", "dialect = 'klipper'\nshaper_type = 'mvz'\nshaper_freq_x_Hz = 50",
         "shaper_type 'mvz' is unknown; did you mean mzv"),
        ("machine", "dialect", "dialect = 'klipper'\nshaper_freq_x = 50", "did you mean shaper_freq_x_Hz"),
        ("machine", "dialect", "dialect = 'klipper'\nshaper_freq_x_Hz = 50\ndamping_ratio_x = 1",
         "damping_ratio is 1, but must be from 0 to 0.99 for mzv"),
        ("machine", "dialect", "dialect = 'klipper'\nshaper_freq_x_Hz = 50\ndamping_ratio_y = 7",
         "damping_ratio is 7, but must be from 0 to 0.99 for mzv"),
        ("machine", "dialect", "dialect = 'klipper'\nshaper_freq_x_Hz = 50\nshaper_type_y = 'zw'",
         "shaper_type 'zw' is unknown"),
        ("machine", "dialect", "dialect = 'klipper'\nshaper_freq_x_Hz = 1e-6",
         "shaper_freq is 1e-06 Hz, but must be at least 1 Hz"),
        ("machine", "dialect", "dialect = 'grbl'\nshaper_freq_y_Hz = 50",
         "the input shaper mzv at 50 Hz, damping 0.1, but none is modelled for GRBL"),
        ("machine", "level_min", "backlash_mm = -0.1", "backlash_mm is -0.1"),
        ("machine", "level_min", "backlash_mm = 80", r"backlash_mm is 80, but must be at most 2 mm"),
        ("machine", "dialect", "dialect = 'grlb'", "dialect 'grlb' is unknown.*did you mean grbl"),
        ("machine", "s_max", "layer_change = 3", "layer_change is 3, but must be a table, as in"),
        ("machine", "s_max", "[layer_change]\nlift_mm = 1\ns_max = 1000",
         r"in TOML 's_max' and \d+ more keys below \[layer_change\] count as part of it: move \[layer"),
        ("machine", "s_max", "layer_change = {lift_mm = 1, s_max = 1000}",
         r"in TOML 's_max' below \[layer_change\] counts as part of it: move \[layer_change\]"),
        ("machine", "s_max", "layer_change.lift = 3",
         "layer_change: key 'lift' is unknown; did you mean lift_mm"),
        ("machine", "s_max", "layer_change.light = 'belo'", "light of layer_change 'belo' is unknown"),
        ("machine", "s_max", "layer_change.wait_s = 3", "waits 3 s at the end of a lift, but gives no lift"),
        ("machine", "s_max", "layer_change.lift_mm = 1e4", "lift is 10000.0, but must be between 0 and 1000"),
        ("machine", "s_max", "layer_change.sweep_to_mm = 3", "gives one end of a sweep"),
        ("machine", "s_max", "layer_change = {sweep_from_mm = 0, sweep_to_mm = [0, 300]}",
         "sweep_to of layer_change is 0, 300 mm, but must be within 0 to 300 and 0 to 200 mm"),
        ("machine", "s_max", "layer_change = {lift_mm = 3, lift_speed_mm_per_s = 300}",
         "lift_speed of layer_change is 300 mm/s, above the 100 mm/s of machine"),
        ("machine", "dialect", "dialect = 7", "dialect is 7, but must be text"),
        ("machine", "s_max", "s_max = 1000 mW", r"not valid TOML.*line \d+"),
        ("machine", "s_max", "s_max = 1" + "0" * 400, "too large"),
        ("resin", "tone", "tone = 'negative'\nshrinkage_percent = [1, 2]",
         r"shrinkage_percent has 2 numbers, but must have three, \[x, y, z\], or be one for all"),
        ("resin", "tone", "tone = 'negative'\nshrinkage_percent = 30",
         "shrinkage in x is 30 %, but must be between -10 and 10 %"),
        ("resin", "tone", "tone = 'negative'\ndevelopment_bias_mm = 5",
         "development_bias is 5000 µm, but must be between -200 and 200 µm"),
        ("resin", "tone", "tone = 'negative'\nbottom_layers = 4",
         "bottom_layers is 4 and bottom_exposure 1; give both"),
        ("resin", "tone", "tone = 'negative'\nbottom_layers = 4\nbottom_exposure = 80",
         "bottom_exposure is 80 critical doses, but must be between 1 and 50"),
        ("resin", "tone", "tone = 'negative'\nbottom_layers = 4000\nbottom_exposure = 8",
         "bottom_layers is 4000, but must be between 0 and 1000"),
        ("resin", "tone", "tone = 'positive'\nbottom_layers = 4\nbottom_exposure = 8",
         "bottom_layers need the tone 'negative'"),
        ("resin", "tone", "tone = 'postive'", "tone 'postive' is unknown; known: negative, positive"),
        ("resin", "over_dose", "over_dose = 0.5", "over_dose is 0.5, but must be above 1"),
        ("resin", "critical", "critical_dose = 20", "did you mean critical_dose_mJ_per_"),
        ("resin", "critical", "",
         "'critical_dose_mJ_per_cm2' is missing .or 'e_c_mJ_per_cm2', 'penetration_depth_um', 'layer_um'."),
        ("resin", "critical", "e_c_mJ_per_cm2 = 8\nlayer_um = 50", "key 'penetration_depth_um' is missing"),
        ("resin", "tone", "tone = 'negative'\nlayer_um = 50",
         "gives the critical dose as well as layer; give one or the other"),
        (
            "resin",
            "tone",
            "tone = 'negative'\nabsorption_order = 2",
            "critical_dose_mJ_per_cm2 is a dose of absorption_order 1, but that is 2; "
            "give critical_dose_mW2_s_per_um4",
        ),
        ("resin", "critical", "critical_dose_mW2_s_per_mm4 = 1",
         "of absorption_order 2, but that is 1; give critical_dose_mJ_per_cm2"),
        ("resin", "critical", "e_c_mJ_per_cm2 = 8\nabsorption_order = 2",
         "e_c is of a working curve, which has absorption_order 1, not 2"),
        ("resin", "critical", "absorption_order = 2", "key 'critical_dose_mW2_s_per_um4' is missing$"),
        ("resin", "tone", "absorption_order = 9", "absorption_order is 9, but must be between 1 and 8"),
        ("resin", "tone", "absorption_order = 1.5", "absorption_order is 1.5, but must be a whole number"),
        ("resin", "tone", "absorption_order = 0",
         "absorption_order is 0, but must be a finite number above 0"),
        ("resin", "over", "gamma = 3", "gives contrast as well as gamma; give one or the other"),
        ("spot", "fwhm", "na = 0.1", "key 'fwhm_mm' is missing"),
        ("spot", "fwhm", "fwhm_mm = 0.1\nna = 0.1", "one or the other"),
        ("spot", "profile", "profile = 'gauss'\n", "spot profile 'gauss' is unknown"),
    ],
)  # fmt: skip
def test_a_bad_profile_is_refused_with_its_key_and_value(
    tmp_path: Path, kind: str, old: str, new: str, words: str
) -> None:
    path = write(tmp_path, changed(kind, old, new))
    with pytest.raises(InputError, match=words) as caught:
        LOADERS[kind](path)
    assert "mine.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "x", "y"),
    [
        ("", None, None),
        ("shaper_freq_x_Hz = 0", None, None),
        ("shaper_freq_x_Hz = 50", ("mzv", 50.0, 0.1), None),
        ("shaper_type = 'ei'\nshaper_freq_x_Hz = 50\nshaper_freq_y_Hz = 40.5",
         ("ei", 50.0, 0.1), ("ei", 40.5, 0.1)),
        ("shaper_type = 'zv'\nshaper_type_y = '2hump_ei'\nshaper_freq_x_Hz = 50\nshaper_freq_y_Hz = 60\n"
         "damping_ratio_y = 0.05", ("zv", 50.0, 0.1), ("2hump_ei", 60.0, 0.05)),
    ],
)  # fmt: skip
def test_input_shapers_have_klipper_s_keys_and_defaults(
    tmp_path: Path, keys: str, x: tuple[str, float, float] | None, y: tuple[str, float, float] | None
) -> None:
    found = profiles.machine(write(tmp_path, changed("machine", "dialect", f"dialect = 'klipper'\n{keys}")))
    assert found.shapers == tuple(one and gcode.motion.Shaper(*one) for one in (x, y))


@pytest.mark.slow
def test_without_a_shaper_a_profile_is_read_without_the_models_of_motion() -> None:
    """They bring Numba, whose import takes some 0.3 s."""
    code = "import sys; from laserpath.config import profiles; profiles.machine('klipper-diode-405'); "
    code += "print({'numba', 'gcode.motion'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("kind", LOADERS)
def test_an_unknown_name_gets_the_nearest_known_one(kind: str) -> None:
    known = profiles.DEFAULTS[kind]
    with pytest.raises(InputError, match=f"{kind} profile .* is unknown; known: .*did you mean {known}"):
        LOADERS[kind](known[:-1])


@pytest.mark.parametrize(
    ("kind", "amount", "option"),
    [
        ("spot", "80um", "--spot-fwhm"), ("spot", "0.08", "--spot-fwhm"),
        ("resin", "35 mJ/cm2", "--critical-dose"), ("resin", "35", "--critical-dose"),
    ],
)  # fmt: skip
def test_an_amount_in_the_place_of_a_name_gets_its_option(kind: str, amount: str, option: str) -> None:
    with pytest.raises(InputError, match=f"; did you mean {option} {amount}\\?$"):
        LOADERS[kind](amount)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.toml' is missing"):
        profiles.machine("nowhere.toml")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        profiles.machine(tmp_path)
    (tmp_path / "bin.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        profiles.machine(tmp_path / "bin.toml")


@pytest.mark.parametrize(
    ("dialect", "offset", "period"),
    [
        ("grbl", 1, 1.024e-3), ("grblhal", 0, 2e-4), ("marlin", 0, 4e-4), ("klipper", 0, 1e-3),
        ("linuxcnc", 0, 0),
    ],
)  # fmt: skip
def test_a_machine_shines_like_its_dialect_s_usual_board(dialect: str, offset: float, period: float) -> None:
    usual = Machine(dialect=dialect)
    assert (usual.light.offset, usual.light_period) == (offset, period)
    own = Machine(dialect=dialect, level_offset=0.5, pwm_period=0.0)
    assert (own.light.offset, own.light_period) == (0.5, 0)
    other = replace(usual, dialect="grbl")
    assert other.light.offset == 1, "what the profile leaves out is of the dialect that is used"


@pytest.mark.parametrize("slow", [1e-300, 1e-12])
def test_a_machine_that_never_gets_going_is_refused(slow: float) -> None:
    """Its ramps on GRBL would have more ticks than the memory holds."""
    with pytest.raises(InputError, match=r"but must be at least 0\.001 mm/s²"):
        Machine(acceleration=(500.0, slow))
