"""A call in a thread that nobody has to wait for: the end of the program ends it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Given = TypeVar("Given")
Result = TypeVar("Result")


def run_in_thread(call: Callable[[Given], Result], given: Given) -> Future[Result]:
    """`call(given)` under way. The threads of an executor would be waited for, however long a server is silent."""
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(call(given))
        except BaseException as error:  # not ours to judge: it is raised where the result is wanted
            future.set_exception(error)

    threading.Thread(target=run, name="sample", daemon=True).start()
    return future
