"""What the records say agrees with the controllers, and users can say how theirs differs."""

from __future__ import annotations

import configparser
import sys
import tomllib
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import jinja2
import pytest

import gcode
from gcode.dialects.known import load

SAMPLES = Path(__file__).parents[2] / "samples"
DIALECTS = list(gcode.DIALECTS.values())
each = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda d: d.name)

Write = Callable[..., Path]


@pytest.fixture
def toml(tmp_path: Path) -> Write:
    """Writes a text to a TOML file."""

    def write(text: str, name: str = "mine") -> Path:
        path = tmp_path / f"{name}.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def lines(dialect: gcode.Dialect) -> list[str]:
    """All that it writes as it is."""
    return [line for group in dialect.fixed_lines for line in group]


@each
def test_no_record_uses_words_that_its_controller_does_not_know(dialect: gcode.Dialect) -> None:
    written = {word for line in lines(dialect) for word in line.split()}
    written |= {word for line in (dialect.power, dialect.power_still, dialect.dwell) for word in line.split()}
    assert not written & set(dialect.unknown)


@each
def test_every_program_starts_dark_and_ends_dark(dialect: gcode.Dialect) -> None:
    assert dialect.laser_off, "something turns the laser off"
    armed = [*dialect.laser_on, *dialect.laser_on_dynamic]
    assert all("S0" in line.split() for line in armed if line.startswith("M3") and not dialect.power_line)
    if dialect.power_line:
        zero = {line.replace("{power}", "0") for line in (dialect.power, dialect.power_still)}
        assert zero & set(dialect.laser_off)


@each
def test_units_are_stated_and_places_absolute(dialect: gcode.Dialect) -> None:
    assert dialect.header[:2] == ("G21", "G90")


def test_records_are_what_the_firmwares_did() -> None:
    grbl, marlin, klipper = (gcode.dialect(name) for name in ("grbl", "marlin", "klipper"))
    assert (grbl.line_limit, marlin.line_limit) == (79, 95)
    assert (grbl.power_max, marlin.power_max, klipper.power_max) == (1000, 255, 1000)
    assert [d.modal for d in (grbl, marlin, klipper)] == [True, False, False]
    assert [d.dark_rapids for d in (grbl, marlin, klipper)] == [True, True, False]
    assert [d.rapid_resets for d in (grbl, marlin, klipper)] == [False, True, False]
    assert [d.rapid_at_feed for d in (grbl, marlin, klipper)] == [False, True, True]
    assert ["{ms}" in d.dwell for d in (grbl, marlin, klipper)] == [False, True, True]
    assert [d.dynamic_power for d in (grbl, marlin, klipper)] == [True, False, False]
    assert [d.comment for d in DIALECTS] == [";"] * len(DIALECTS)
    assert marlin.laser_on == ("M3 I S0",) and marlin.laser_off == ("M5 I",)
    assert klipper.xy_decimals >= 4
    assert {d.name for d in DIALECTS} == {
        "grbl", "grblhal", "marlin", "klipper", "smoothieware", "linuxcnc", "generic",
    }  # fmt: skip


def test_linuxcnc_ends_with_its_output_at_0() -> None:
    """M67 waits for a motion, and neither M5 nor M2 touch the output: only M68 ends a program dark."""
    linuxcnc = gcode.dialect("linuxcnc")
    assert linuxcnc.laser_off[0] == "M68 E0 Q0" and linuxcnc.footer == ("M2",)


def test_smoothieware_forgets_its_last_power_at_the_end() -> None:
    """S of a motion is the power of every later G1, whatever M5 says."""
    assert gcode.dialect("smoothieware").footer == ("G0 S0",)


def klipper_configuration() -> configparser.RawConfigParser:
    """samples/klipper-laser.cfg, as Klipper reads it."""
    config = configparser.RawConfigParser(inline_comment_prefixes=("#",), delimiters=(":",), strict=True)
    config.read_string((SAMPLES / "klipper-laser.cfg").read_text(encoding="ascii"))
    return config


@pytest.mark.parametrize(("value", "state", "ends"), [
    (0.5, "Ready", True), (0.5, "Idle", True), (0.5, "Printing", False), (0, "Ready", False),
])  # fmt: skip
def test_klippers_watchdog_ends_light_only_where_no_move_is_queued(
    value: float, state: str, ends: bool
) -> None:
    """A SET_PIN between the lines of a running file would darken the strokes after it."""
    template = jinja2.Environment("{%", "%}", "{", "}").from_string(
        klipper_configuration()["delayed_gcode laser_watchdog"]["gcode"]
    )
    printer = {"pwm_tool laser": {"value": value}, "idle_timeout": {"state": state}}
    lines = [line.strip() for line in template.render(printer=printer).splitlines() if line.strip()]
    assert lines.pop() == "UPDATE_DELAYED_GCODE ID=laser_watchdog DURATION=0.5", "it runs again"
    assert lines == ([gcode.dialect("klipper").laser_off[0]] if ends else [])


def test_the_klipper_configuration_fits_the_dialect() -> None:
    config = klipper_configuration()
    klipper, tool = gcode.dialect("klipper"), config["pwm_tool laser"]
    assert " PIN=laser " in klipper.power
    assert float(tool["scale"]) == klipper.power_max
    assert float(tool["value"]) == float(tool["shutdown_value"]) == 0
    assert 0.5 <= float(tool["maximum_mcu_duration"]) <= 3
    for section in ("gcode_macro PAUSE", "gcode_macro CANCEL_PRINT", "idle_timeout"):
        assert klipper.laser_off[0] in config[section]["gcode"].splitlines()


def test_the_template_loads_and_is_the_generic_dialect() -> None:
    mine = load(SAMPLES / "dialect-template.toml")
    assert mine.name == "my-controller"
    assert replace(mine, name="generic", realtime="!?~") == gcode.dialect("generic")


def test_the_template_explains_every_key() -> None:
    text = (SAMPLES / "dialect-template.toml").read_text(encoding="utf-8")
    keys = {line.lstrip("# ").split(" = ")[0] for line in text.splitlines() if " = " in line}
    assert keys >= {field.name for field in fields(gcode.Dialect)} | {"base"}
    everything = "\n".join(line.removeprefix("# ") for line in text.splitlines() if " = " in line)
    stated = tomllib.loads(everything.replace("moves = ", "# ").replace("    text = ", "# "))
    assert "base" in stated and "power_levels" in stated


def test_a_dialect_of_ones_own(toml: Write) -> None:
    path = toml('base = "grbl"\nfooter = "M30"\npower_max = 255\nlaser_on = ["M8", "M3 S0"]')
    mine = gcode.dialect(str(path))
    assert mine == load(path)
    assert (mine.name, mine.footer, mine.power_max) == ("mine", ("M30",), 255)
    assert mine.laser_on == ("M8", "M3 S0") and mine.realtime == "!?~"
    moves = gcode.Moves.straight([[0, 0], [1, 0]], [1], [10], [False])
    text = gcode.write(moves, mine)
    assert "M8\nM3 S0\n" in text and " S255\n" in text and text.endswith("M30\n")


def test_a_base_is_found_beside_its_file(toml: Write) -> None:
    toml('base = "marlin"\nline_limit = 80', "shop")
    mine = load(toml('base = "shop.toml"\nname = "bench"'))
    assert (mine.name, mine.line_limit, mine.power_max) == ("bench", 80, 255)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("fotter = []", r"dialect 'mine': key 'fotter' is unknown; did you mean footer\?"),
        ("bases = 'grbl'", r"key 'bases' is unknown; did you mean base\?"),
        ("xyz = 1", "key 'xyz' is unknown; known: base, name, header, footer"),
        ("footer = 3", "footer is 3, but must be a list of lines"),
        ("footer = [3]", r"footer is \[3\], but must be a list of lines"),
        ("power = true", "power is True, but must be text in quotes"),
        ("modal = 1", "modal is 1, but must be true or false"),
        ("power_max = '9'", "power_max is '9', but must be a number"),
        ("power_max = 0", "power_max is 0, but must be above 0"),
        ("power_max = nan", "power_max is nan, but must be above 0"),
        ("power_levels = 2.5", "power_levels is 2.5, but must be a whole number"),
        ("xy_decimals = 12", "xy_decimals is 12, but must be a whole number from 0 to 9"),
        ("xy_decimals = true", "xy_decimals is True, but must be a whole number"),
        ("line_limit = 3", "line_limit is 3, but must be a whole number from 40 to 10000"),
        ("power = 'S'", "power is 'S', but must contain {power}"),
        (
            "power = 'S{power}\\nM3 S1000'",
            "mine.toml: dialect 'mine': power is .*one line of printable ASCII",
        ),
        (
            "power = 'S{power:.1f}'",
            r"power is 'S{power:.1f}', but may have {power} once, and no other braces",
        ),
        ("power = 'S{power!r}'", "power is 'S{power!r}', but may have {power} once"),
        ("power = 'S{power.real}'", "power is 'S{power.real}', but may have {power} once"),
        ("power = 'S{power[0]}'", r"power is 'S{power\[0\]}', but may have {power} once"),
        ("power = 'S{power} P{power}'", "but may have {power} once"),
        ("power = 'S{power} {{'", "but may have {power} once, and no other braces"),
        ("power = 'S{power} {'", "but may have {power}: Single '{' encountered"),
        ("power = 'S{power} {s}'", "but may have {power} once, and no other braces"),
        ("power_still = 'G1 S1'", "power_still is 'G1 S1', but must contain {power}"),
        ("dwell = 'G4 P{ms:d}'", r"dwell is 'G4 P{ms:d}', but may have {s} and {ms}"),
        ("dwell = 'M106 P{ms}'", "dwell has 'M106 P1', but a wait must be G4 with P or S, and nothing else"),
        ("footer = ['M2 {power}']", "footer is 'M2 {power}', but may have no field in braces"),
        ("footer = ['M3 S1000']", "mine.toml: dialect 'mine': footer has 'M3 S1000', but M3 arms the laser"),
        ("footer = ['S500', 'M2']", "footer has 'S500', but S500 is a power; it must be 0 there"),
        ("header = ['G21', 'G1 X1 F60 S1']", "header has 'G1 X1 F60 S1', but G1 moves as lit moves do"),
        ("header = ['G21', 'M42 P4 S255']", "but M42 sets an output that may be the laser's"),
        ("header = ['G21', 'LIGHT']", "header has 'LIGHT', but nothing is known about LIGHT"),
        ("laser_off = ['M3 S0']", "laser_off has 'M3 S0', but M3 does not turn a laser off"),
        ("base = 'klipper'\ndark_rapids = true", "dark_rapids is True, but must be empty or false"),
        ("dwell = 'G4'", "dwell is 'G4', but must contain {s} or {ms}"),
        ("units = 'inch'", "header has no G20, though units is 'inch'"),
        ("units = 'feet'", "units is 'feet', but must be one of 'mm', 'inch'"),
        (
            "header = ['G21\\nG90']",
            r"header is 'G21\\nG90', but must be one line of printable ASCII of at most 79",
        ),
        ("header = ['G21', 'µ']", "header is 'µ', but must be one line of printable ASCII"),
        ("base = 'grlb'", r"dialect 'grlb' is unknown; known: .*generic, grbl.*; did you mean grbl\?"),
        ("base = 1", "base is 1, but must be the name of a dialect"),
        ("base = 'mine.toml'", "mine.toml has itself as its base"),
        ("base = 'none.toml'", "none.toml: No such file"),
        ("name = 3", "dialect 3: name is 3, but must be text"),
        ("a b", "is not valid TOML"),
    ],
)
def test_what_is_wrong_in_a_file_is_reported(toml: Write, text: str, sentence: str) -> None:
    text = text.replace("'", '"')
    with pytest.raises(gcode.GcodeError, match=sentence):
        load(toml(text))


def test_files_that_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b'name = "\xb5"')
    for path, sentence in ((tmp_path / "latin.toml", "is not UTF-8 text"), (tmp_path, "Is a directory")):
        with pytest.raises(gcode.GcodeError, match=sentence):
            load(path)
    with pytest.raises(gcode.GcodeError, match=r"missing.toml: No such file"):
        gcode.dialect(str(tmp_path / "missing.toml"))


def install(folder: Path, points: str, module: str) -> None:
    """What pip leaves behind of a distribution with entry points."""
    info = folder / "shopdialects-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shopdialects\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[gcode.dialects]\n{points}\n")
    (folder / "shopdialects.py").write_text(module)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = (
        "shop = shopdialects:SHOP\nnumber = shopdialects:NUMBER\nmissing = shopdialects:NO\nbad = nowhere:X"
    )
    module = "from gcode import Dialect\nSHOP = Dialect('shop', line_limit=60)\nNUMBER = 3\n"
    install(tmp_path, f"{points}\ngrbl = shopdialects:SHOP", module)
    monkeypatch.setitem(sys.modules, "shopdialects", None)
    monkeypatch.delitem(sys.modules, "shopdialects")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("shop")
def test_other_packages_offer_dialects() -> None:
    assert gcode.dialect("shop").line_limit == 60
    assert gcode.dialect("grbl") is gcode.DIALECTS["grbl"], "ours cannot be replaced"
    with pytest.raises(gcode.GcodeError, match=r"'ship' is unknown; known: .*shop.*; did you mean shop\?"):
        gcode.dialect("ship")


@pytest.mark.usefixtures("shop")
def test_a_base_may_be_another_package_s(toml: Write) -> None:
    assert load(toml('base = "shop"\nfooter = []')).line_limit == 60


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("number", "dialect 'number': shopdialects:NUMBER is a int, not a Dialect"),
        ("missing", "dialect 'missing' of shopdialects:NO cannot be loaded: .*has no attribute 'NO'"),
        ("bad", "dialect 'bad' of nowhere:X cannot be loaded: No module named 'nowhere'"),
    ],
)
def test_packages_that_offer_something_else(name: str, sentence: str) -> None:
    with pytest.raises(gcode.GcodeError, match=sentence):
        gcode.dialect(name)


def test_what_another_package_offers_is_gone_with_it() -> None:
    with pytest.raises(gcode.GcodeError, match="dialect 'shop' is unknown"):
        gcode.dialect("shop")
