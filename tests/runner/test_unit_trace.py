"""What a watched function returns is recorded, and which of its lines run."""

from __future__ import annotations

from coderefine.runner.agent.unit_trace import UnitTrace


def halves(numbers):  # type: ignore[no-untyped-def]
    for number in numbers:
        yield number // 2


def guarded(number):  # type: ignore[no-untyped-def]
    try:
        return 1 // number
    except ZeroDivisionError:
        pass


def test_when_a_generator_is_closed_is_no_result() -> None:
    trace = UnitTrace([(halves, "halves")])
    trace.start()
    found = halves([2, 4])
    next(found)
    del found  # the garbage collector may do this at any time
    list(halves([2, 4]))
    trace.stop()
    ((first, *others),) = trace.results["halves"].values()
    assert first == others[0] and len(others) == 3


def test_a_caught_exception_is_no_result_where_all_lines_were_seen_before() -> None:
    trace = UnitTrace([(guarded, "guarded")])
    trace.start()
    results = [guarded(number) for number in (1, 0, 1, 0, 0)]
    trace.stop()
    assert results == [1, None, 1, None, None]
    assert [len(codes) for codes in trace.results["guarded"].values()] == [2, 3]
    assert not any(code.startswith("!") for codes in trace.results["guarded"].values() for code in codes)
    start = guarded.__code__.co_firstlineno
    assert trace.lines["guarded"] == {start + 1, start + 2, start + 3, start + 4}
