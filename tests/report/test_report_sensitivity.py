"""The sensitivity in words, and on the page."""

from __future__ import annotations

from dataclasses import replace

import pytest
from exposures import Job

from laserpath.report import PageText, render
from laserpath.report.advice import headline, help_in_words, sensitivity_as_dict
from laserpath.types import Machine, Process, Spot
from laserpath.types.results import KeyFigures, Sensitivity, Variation

PROCESS = Process(Spot(fwhm=0.1))


def variation(cause: str, change: str, epe_mean: float, write_time: float = 10.0) -> Variation:
    return Variation(cause, change, KeyFigures(epe_mean, 0, 3.0, write_time))


MADE = Sensitivity(
    KeyFigures(0.019, 0, 3.0, 10.0),
    (
        variation("acceleration", "20 % less acceleration", 0.03),
        variation("override", "a feed override of 120 %", 0.093),
    ),
    (
        variation("filter", "a filter of 40 %", 0.013),
        variation("acceleration", "twice the acceleration", 0.0171, 8.0),
        variation("link", "a link without limit", 0.0189),
    ),
)


def test_the_headline_names_the_worst_its_figure_and_the_remedy() -> None:
    assert headline(MADE, PROCESS) == (
        "Most sensitive to acceleration: with 20 % less acceleration the mean edge error rises from 1.9 to "
        "3.0 µm. Keep the profile's acceleration equal to $120 and $121. Leave the feed override at 100 %: "
        "120 % would take it from 1.9 to 9.3 µm."
    )


def test_lines_sent_one_by_one_bound_the_largest_dose() -> None:
    sooner = Variation("moments", "a host that answers 0.1 ms sooner", KeyFigures(0.0191, 0, 4.36, 10.0))
    told = headline(replace(MADE, disturbed=(sooner, *MADE.disturbed)), PROCESS)
    assert "the largest dose is 3.00 to 4.36 × critical." in told
    assert "line by line" not in headline(MADE, PROCESS)


def test_an_override_which_the_user_sets_never_leads_even_alone() -> None:
    alone = headline(replace(MADE, disturbed=MADE.disturbed[1:]), PROCESS)
    assert alone.startswith("Leave the feed override at 100 %")
    calm = variation("link", "a link half as fast", 0.0191)
    both = headline(replace(MADE, disturbed=(calm, MADE.disturbed[1])), PROCESS)
    assert both.startswith("Hardly sensitive") and "Leave the feed override at 100 %" in both


def test_a_print_that_is_lost_anyway_is_not_called_hardly_sensitive() -> None:
    lost = replace(MADE, planned=replace(MADE.planned, epe_mean=1.2, missing_edges=60))
    calm = replace(lost, disturbed=(variation("link", "a link half as fast", 1.2),))
    for one in (lost, calm):
        assert headline(one, PROCESS).startswith("The print is lost even if the machine is as planned")


@pytest.mark.parametrize(
    ("dialect", "setting"), [("grbl", "$120"), ("klipper", "max_accel"), ("marlin", "M201")]
)
def test_the_remedy_names_the_controller_s_own_setting(dialect: str, setting: str) -> None:
    one = replace(MADE, disturbed=MADE.disturbed[:1])
    assert setting in headline(one, replace(PROCESS, machine=Machine(dialect=dialect)))


def test_a_plan_that_nothing_spoils_is_called_so() -> None:
    calm = replace(MADE, disturbed=(variation("link", "a link half as fast", 0.0191),))
    assert headline(calm, PROCESS).startswith("Hardly sensitive")


def test_what_helps_is_said_with_figures_the_best_first() -> None:
    assert help_in_words(MADE, PROCESS) == (
        "A filter of 40 % takes the mean edge error from 1.9 to 1.3 µm.",
        "Twice the acceleration takes the mean edge error from 1.9 to 1.7 µm, and the write time from "
        "10.0 s to 8.00 s.",
    )


def test_if_nothing_helps_one_sentence_says_so_and_if_nothing_was_tried_none() -> None:
    (sentence,) = help_in_words(replace(MADE, improved=MADE.improved[2:]), PROCESS)
    assert sentence == (
        "Nothing that was tried would lower the mean edge error by more than 5 %: a link without limit."
    )
    assert help_in_words(replace(MADE, improved=()), PROCESS) == ()


def test_the_page_has_the_line_and_the_table(job: Job) -> None:
    html = render(job.page_data, PageText("plate", sensitivity=MADE, illustrated=False), job.run).replace(
        "\u00a0", " "
    )
    assert "What it is most sensitive to" in html
    assert "What would help this machine" in html
    table = html[html.index('<table id="sensitivity">') :].split("</table>")[0]
    for one in (*MADE.disturbed, *MADE.improved):
        assert one.change in table
    assert "9.3 µm" in table
    assert 'id="sensitivity"' not in render(job.page_data, PageText("plate", illustrated=False), job.run)


def test_json_has_figures_and_sentences() -> None:
    content = sensitivity_as_dict(MADE, PROCESS)
    assert content["headline"] == headline(MADE, PROCESS)
    assert len(content["help"]) == 2
    assert content["disturbed"][1]["epe_mean"] == 0.093
    assert content["improved"][0]["change"] == "a filter of 40 %"
