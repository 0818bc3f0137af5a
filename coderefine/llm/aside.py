"""A call in a thread that nobody has to wait for: the end of the program ends it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from coderefine.errors import CoderefineError

Given = TypeVar("Given")
Result = TypeVar("Result")


def begun(call: Callable[[Given], Result], given: Given) -> Future[Result]:
    """`call(given)` under way. The threads of an executor would be waited for, however long a server is silent."""
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(call(given))
        except CoderefineError as error:
            future.set_exception(error)
        finally:
            future.cancel()  # a bug, whose traceback is out already: whoever waits must not wait for ever

    threading.Thread(target=run, name="sample", daemon=True).start()
    return future
