"""Work beside the caller's: the same result, its reports and errors to who asks, an end when nobody does."""

import threading
import time

import pytest
from threadpoolctl import threadpool_info

from laserpath.base.compute import beside
from laserpath.base.compute.beside import Beside, in_parts, one_blas_thread

processors = pytest.mark.parametrize("processors", [1, 2])


@pytest.fixture(autouse=True)
def _count(request, monkeypatch):
    if "processors" in request.fixturenames:
        count = request.getfixturevalue("processors")
        monkeypatch.setattr(beside, "cpu_count", lambda: count)


@processors
def test_the_result_is_that_of_the_work(processors):
    def work(told):
        for k in range(3):
            told(k)
        return threading.current_thread() is threading.main_thread()

    said = []
    with Beside(work) as other:
        alone = other.result(said.append)
    assert alone == (processors == 1)
    assert said[-1] == 2


@processors
def test_an_error_comes_where_the_result_is_asked_for(processors):
    def work(told):
        raise ValueError("no light")

    with Beside(work) as other, pytest.raises(ValueError, match="no light"):
        other.result(print)


def test_work_for_nobody_ends_at_its_next_report(monkeypatch):
    monkeypatch.setattr(beside, "cpu_count", lambda: 2)
    going = threading.Event()

    def work(told):
        while True:
            going.set()
            told(0)
            time.sleep(0.001)

    def leave():
        with Beside(work):
            going.wait(5)
            raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        leave()
    assert threading.active_count() == before


def test_who_waits_may_be_interrupted(monkeypatch):
    """By what is told of the work, as Ctrl-C interrupts a plan."""
    monkeypatch.setattr(beside, "cpu_count", lambda: 2)

    def work(told):
        while True:
            told(0)
            time.sleep(0.001)

    def stop(now):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), Beside(work) as other:
        other.result(stop)


def blas_threads() -> set[int]:
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def test_blas_has_its_threads_again_after_the_last_of_two_who_leave_in_any_order():
    before, first_in, first_out = blas_threads(), threading.Event(), threading.Event()

    def first():
        with one_blas_thread():
            first_in.set()
            first_out.wait(5)

    one = threading.Thread(target=first)
    one.start()
    first_in.wait(5)
    with one_blas_thread():
        first_out.set()
        one.join()
        assert blas_threads() == {1}
    assert blas_threads() == before


@processors
@pytest.mark.parametrize("count", [0, 1, 5])
def test_parts_follow_one_another_and_are_no_more_than_processors(processors, count):
    parts = in_parts(lambda first, end: range(first, end), count)
    assert [row for part in parts for row in part] == list(range(count))
    assert len(parts) == max(1, min(processors, count))
