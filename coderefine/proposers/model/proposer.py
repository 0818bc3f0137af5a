"""Asks a model for the repair: one request when the first answer is right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace

from coderefine.config import Config
from coderefine.core import EMPTY, FIX, Cost, Event, Listen, Proposals, Situation, Task, Views
from coderefine.llm.client import Client
from coderefine.llm.selection import Trace
from coderefine.project import Interpreter, Place, Protection
from coderefine.proposers.model.ground import Ground
from coderefine.proposers.model.policies import policy
from coderefine.proposers.model.question import Asking
from coderefine.proposers.model.talk import Talk
from coderefine.proposers.model.tracing import cold_tracer, traced


class Model:
    """The proposer that costs money. `client` carries budget, memory and transport, and is closed by its owner."""

    name = "model"

    def __init__(
        self,
        place: Place,
        config: Config,
        client: Client,
        protection: Protection,
        listen: Listen = lambda _: None,
        *,
        under: Mapping[str, bytes | None] = EMPTY,
        task: Task = FIX,
        interpreter: Interpreter | None = None,
    ) -> None:
        """`under`: files as they were at the run's start, where the user's tree has others by now.

        `interpreter`: the project's, for tracing what its failing tests execute (None: not traced).
        """
        self._interpreter = interpreter
        self.reason = ""
        """Why the model gave up, in its own words."""
        self._asking = Asking(place, config, protection, under, task=task)
        self._config = config
        self._client = client
        self._listen = listen

    @property
    def spent(self) -> Cost:
        return self._client.spent

    def propose(self, situation: Situation, views: Views) -> Proposals:
        """Patches until the model has nothing new to say; the policy starts over whenever the best improves.

        Raises BudgetError before a limit is crossed and ModelError for a server's final no.
        """
        chosen = policy(self._config.policy)
        asking = replace(self._asking, trace=self._tracing(situation, views))
        talk = Talk(asking, self._client, chosen)
        while True:
            best = situation.best.number
            talk.forget()
            for move in chosen.moves():
                with closing(talk.patches(move, situation)) as patches:
                    for patch in patches:
                        situation = yield patch
                if talk.hopeless and not talk.escalated(move):
                    self.reason = f"the model sees no repair: {talk.refusal}" if talk.refusal else ""
                    self._listen(Event("note", self.reason or "the model has nothing usable to say"))
                    return
                if situation.best.number != best:
                    break
            else:
                return

    def _tracing(self, situation: Situation, views: Views) -> Callable[[Ground], Trace | None]:
        """Traces each tree once. Its text is read from the user's tree, with the patch laid over it in memory."""
        if self._interpreter is None:
            return lambda _: None
        tracer = cold_tracer(views, self._asking.place, self._interpreter, self._config)
        known: dict[tuple[object, ...], Trace | None] = {}

        def trace(ground: Ground) -> Trace | None:
            key = tuple(sorted(ground.patch.files.items()))
            if key not in known:
                self._listen(Event("stage", "trace"))
                overlay = self._asking.tree(ground.patch)
                cases = {test: case for test, case in ground.cases.items() if test not in situation.flaky}
                known[key] = traced(tracer, ground.patch, cases, overlay.read, self._asking.is_code)
            return known[key]

        return trace
