"""`laserpath profiles`: list, show, new, check, and the user's own folder."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest
from commands import Answer, Captured, Refused, run

from laserpath.cli import show
from laserpath.config import profiles, request
from laserpath.types import Process, Resin, Spot, process


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder, empty."""
    monkeypatch.setenv("LASERPATH_PROFILES", str(tmp_path / "mine"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "mine"


@pytest.mark.parametrize("arguments", [(), ("list",)])
def test_lists_all_that_come_along(arguments: tuple[str, ...], capsys: Captured) -> None:
    assert run("profiles", *arguments) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for kind in profiles.FOLDERS for name in profiles.names(kind))
    assert "(yours)" not in listed


def test_lists_as_json(answer: Answer) -> None:
    rows = answer("profiles", "list")
    assert {(row["kind"], row["name"]) for row in rows} == {
        (kind, name) for kind in profiles.FOLDERS for name in profiles.names(kind)
    }


def test_shows_the_text(capsys: Captured) -> None:
    for kind in profiles.FOLDERS:
        for name in profiles.names(kind):
            assert run("profiles", "show", name) == 0
            assert capsys.readouterr().out == profiles.text(kind, name)


def test_a_new_one_is_there_by_its_name(folder: Path, capsys: Captured) -> None:
    assert run("profiles", "new", "machine", "shed", "--from", "klipper-diode-405") == 0
    assert str(folder / "machines" / "shed.toml") in capsys.readouterr().out
    assert profiles.machine("shed") == profiles.machine("klipper-diode-405")
    assert run("profiles", "list") == 0
    assert "shed" in (line := next(x for x in capsys.readouterr().out.splitlines() if "shed" in x))
    assert "(yours)" in line
    assert run("profiles", "new", "machine", "shed") == 2, "it would be lost"
    assert profiles.machine("shed").dialect == "klipper"


def test_ones_own_comes_before_one_of_the_same_name(folder: Path) -> None:
    assert run("profiles", "new", "resin", "generic-405") == 0
    file = folder / "resins" / "generic-405.toml"
    file.write_text(file.read_text().replace("mJ_per_cm2 = 20", "mJ_per_cm2 = 35"))
    assert profiles.resin("generic-405").critical_dose == 0.35


@pytest.mark.parametrize("kind", profiles.FOLDERS)
def test_check_tells_the_kind(kind: str, capsys: Captured) -> None:
    for name in profiles.shipped(kind):
        Path("some.toml").write_text(profiles.text(kind, name))
        assert run("profiles", "check", "some.toml") == 0
        assert f"a {kind}, without errors" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("power_max_mV = 10\nsize_mm = 3", "key 'power_max_mV' is unknown; did you mean power_max_mW"),
        ("colour = 3", "no key of a machine, a resin or a spot"),
        ("", "no key of a machine, a resin or a spot"),
        ("fwhm_mm = -3", "fwhm_mm is -3, but must be a finite number above 0"),
        ("fwhm_mm = 'x'", "fwhm_mm is 'x', but must be a number"),
        ("tone = 'grey'\ncritical_dose_mJ_per_cm2 = 20", "tone 'grey' is unknown; known: negative, positive"),
        ("fwhm_mm = ", "not valid TOML"),
    ],
)
def test_check_says_what_is_wrong(text: str, words: str, refused: Refused) -> None:
    Path("some.toml").write_text(text)
    assert words in refused("profiles", "check", "some.toml")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("show", "grbl"), "did you mean grbl-diode-405"),
        (("new", "machine", "../shed"), "must be a plain name"),
        (("new", "machine", "shed", "--from", "nowhere.toml"), "is missing"),
        (("check", "nowhere.toml"), "is missing"),
    ],
)
def test_bad_input_is_one_sentence(
    folder: Path, arguments: tuple[str, ...], words: str, refused: Refused
) -> None:
    assert words in refused("profiles", *arguments)
    assert not folder.exists()


def test_check_warns_of_a_laser_that_does_not_suit_the_resin(capsys: Captured, answer: Answer) -> None:
    text = profiles.text("machine", "grbl-diode-405")
    for power, words in (
        (500, "density 1.7"),
        (150, "only 1 of the 255 power levels"),
        (1e-6, "is too weak"),
    ):
        Path("some.toml").write_text(text.replace("power_max_mW = 10\n", f"power_max_mW = {power}\n"))
        assert run("profiles", "check", "some.toml") == 0
        printed = capsys.readouterr()
        assert "without errors" in printed.out
        assert "warning: with 'generic 405 nm resin': " in printed.err and words in printed.err
    Path("slow.toml").write_text(
        profiles.text("resin", "generic-405").replace("mJ_per_cm2 = 20", "mJ_per_cm2 = 400")
    )
    Path("some.toml").write_text(text.replace("power_max_mW = 10\n", "power_max_mW = 150\n"))
    assert answer("profiles", "check", "some.toml", "--resin", "slow.toml")["warnings"] == []


def test_check_says_which_levels_write_a_line_of_the_resin(answer: Answer) -> None:
    """20 mJ/cm² and lines 0.12 mm apart take 1.2 mW at 50 mm/s; level n has (n + 1)/256 of 10 mW."""
    text = profiles.text("machine", "grbl-diode-405")
    (strong,) = answer("profiles", "check", "grbl-diode-405", "--resin", "generic-405")["notes"]
    assert "by levels 1 to 29 of 255, at 3.26 to 48.8 mm/s; higher ones overexpose it" in strong
    Path("some.toml").write_text(text.replace("power_max_mW = 10\n", "power_max_mW = 1\n"))
    (weak,) = answer("profiles", "check", "some.toml")["notes"]
    assert weak.endswith("by levels 1 to 255 of 255, at 0.326 to 41.7 mm/s")


def test_a_file_whose_name_lacks_its_end_is_named(refused: Refused, capsys: Captured) -> None:
    Path("my-laser.toml").write_text(profiles.text("machine", "grbl-diode-405"))
    for command in (("profiles", "show"), ("profiles", "check"), ("plan", "a.svg", "--machine")):
        assert "did you mean the file my-laser.toml?" in refused(*command, "my-laser")
    assert run("profiles", "show", "my-laser.toml") == 0
    assert capsys.readouterr().out == profiles.text("machine", "grbl-diode-405")


def test_a_dose_in_the_wrong_unit_is_told_as_a_warning(capsys: Captured) -> None:
    process._doubt.cache_clear()
    text = profiles.text("resin", "generic-405").replace("mJ_per_cm2 = 20", "mJ_per_cm2 = 3500")
    Path("some.toml").write_text(text)
    assert run("profiles", "check", "some.toml") == 0
    told = capsys.readouterr().err
    assert told.startswith("laserpath: warning: resin critical_dose is 35 mJ/mm²") and told.count("\n") == 1


def dated(days: int, line: str = "chart.csv: 40 sizes, 1.2 um left") -> str:
    return f"{(date.today() - timedelta(days=days)).isoformat()} {line}"


def spot_text(*lines: str) -> str:
    told = "\n".join(lines)
    return f'fwhm_um = 80\ncalibrated = """\n{told}\n"""\n' if lines else "fwhm_um = 80\n"


def test_history_tells_when_each_was_measured(capsys: Captured, answer: Answer) -> None:
    Path("old.spot.toml").write_text(spot_text(dated(200), dated(1, "again.csv: 30 sizes")))
    Path("new.spot.toml").write_text(spot_text())
    assert run("profiles", "history") == 0
    printed = capsys.readouterr().out
    assert "200 days ago: chart.csv: 40 sizes, 1.2 um left" in printed
    assert printed.index("200 days ago") < printed.index("1 day ago: again.csv")
    assert "new.spot.toml (spot)\n  not measured" in printed
    rows = answer("profiles", "history", "old.spot.toml")
    assert [(row["kind"], row["days"]) for row in rows] == [("spot", 200), ("spot", 1)]


def test_history_of_what_is_not_measured_by_a_chart_is_refused(refused: Refused) -> None:
    Path("my.toml").write_text(profiles.text("machine", "grbl-diode-405"))
    assert "is a machine's profile" in refused("profiles", "history", "my.toml")
    Path("bad.spot.toml").write_text(spot_text("yesterday chart.csv"))
    assert "must begin with a day" in refused("profiles", "history", "bad.spot.toml")


@pytest.mark.parametrize(
    ("days", "sentences"),
    [
        ((89, 3), ()),
        ((91, 3), ("the spot was measured 91 days ago",)),
        ((None, 3), ("the spot is not measured",)),
        ((None, None), ("the spot and the resin are not measured",)),
    ],
)
def test_a_plan_tells_an_old_calibration(
    days: tuple[int | None, int | None], sentences: tuple[str, ...]
) -> None:
    spot, resin = ("" if one is None else f"{dated(400)}\n{dated(one)}" for one in days)
    told = list(show.ages(Process(Spot(calibrated=spot), Resin(calibrated=resin)), date.today()))
    assert len(told) == len(sentences)
    assert all(begin in sentence for begin, sentence in zip(sentences, told, strict=True))


def test_a_published_resin_is_a_starting_point_until_its_dose_is_known() -> None:
    resin = profiles.resin("pr48")
    assert resin.critical_dose == pytest.approx(0.179 * math.exp(50 / 69.3))
    first, second = show.ages(Process(resin=resin), date.today())
    assert "starting point" in first and "https://" in first and "not measured" in second
    measured = Process(Spot(calibrated=dated(1)), replace(resin, calibrated=dated(1)))
    assert not list(show.ages(measured, date.today()))
    assert not request.process_of({"resin": "pr48", "critical_dose": 0.3}).resin.source


def test_a_photoresist_has_half_of_the_dose_of_a_written_area_at_its_edge() -> None:
    resist = profiles.resin("spr220-3.0")
    assert (resist.tone, resist.critical_dose) == ("positive", pytest.approx(3.25 / 2))
    assert "https://" in resist.source and "405 nm" in resist.source


def test_published_resins_are_listed_and_copied(capsys: Captured) -> None:
    assert run("profiles", "list") == 0
    assert "Liqcreate Tough-X at 405 nm, a starting point" in capsys.readouterr().out
    assert run("profiles", "new", "resin", "mine", "--from", "liqcreate-tough-x", "-o", ".") == 0
    assert profiles.resin("mine.toml") == profiles.resin("liqcreate-tough-x")
    assert profiles.resin("mine.toml").source == profiles.resin("liqcreate-tough-x").source
