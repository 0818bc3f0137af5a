"""The proposer that asks a language model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace

from coderefine import judge
from coderefine.config import Config
from coderefine.core import (
    EMPTY,
    FIX,
    Case,
    Check,
    Cost,
    Coverage,
    Event,
    Listen,
    Patch,
    Proposals,
    Situation,
    Task,
    Views,
)
from coderefine.llm.client import Client
from coderefine.llm.selection import Trace
from coderefine.project import Interpreter, Place, Protection
from coderefine.proposers.model.conversation import Conversation
from coderefine.proposers.model.policies import POLICIES
from coderefine.proposers.model.prompt_state import PromptState
from coderefine.proposers.model.request_builder import RequestBuilder
from coderefine.proposers.model.tracing import Observed, cold_tracer, trace_seconds, traced

__all__ = ["Model"]


class Model:
    """The proposer that asks a language model, at a cost.

    `client` contains the budget, the stored answers and the connection; the code that created the client closes it.
    """

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
        together: bool = False,
        observed: Observed | None = None,
    ) -> None:
        """Create the proposer. `under`: files whose content at the run's start differs from the user's tree now.

        `interpreter`: the project's interpreter, with which failing tests are traced (None: no tracing). `together`:
        wait for all answers of a round, because their patches can be tested at the same time. `observed`: see
        `Observed`; what it returns replaces a trace.
        """
        self.coming: tuple[Patch, ...] = ()
        """The patches of this round; empty without `together`."""
        self.traces: list[tuple[Patch, Coverage]] = []
        """The lines that tests execute, with the patch of the tree on which they do."""
        self._together = together
        self._interpreter = interpreter
        self._observed = observed
        self.reason = ""
        """The reason that the model gave for not proposing a repair; "" if none."""
        self._builder = RequestBuilder(place, config, protection, under, task=task)
        self._config = config
        self._client = client
        self._listen = listen

    @property
    def spent(self) -> Cost:
        return self._client.spent

    def propose(self, situation: Situation, views: Views) -> Proposals:
        """Yield patches until the model has no new ones; the policy restarts after every accepted patch.

        Raises BudgetError before a limit is exceeded, and ModelError for a permanent failure of the server.
        """
        policy = POLICIES[self._config.policy]
        builder = replace(self._builder, trace=self._tracing(situation, views))
        conversation = Conversation(builder, self._client, policy.history)
        while True:
            best = situation.best.number
            conversation.forget()
            for move in policy.moves():
                with closing(conversation.patches(move, situation, together=self._together)) as patches:
                    for patch in patches:
                        self.coming = conversation.coming
                        situation = yield patch
                if conversation.hopeless and not conversation.escalate(move):
                    self.reason = f"the model sees no repair: {conversation.refusal}" if conversation.refusal else ""
                    self._listen(Event("note", self.reason or "the model gives no usable answer"))
                    return
                if situation.best.number != best:
                    break
            else:
                return

    def _tracing(self, situation: Situation, views: Views) -> Callable[[PromptState], Trace | None]:
        """Return a function that traces each tree once; texts are read from the user's tree with the patch applied."""
        if self._interpreter is None:
            return lambda _: None
        tracer = cold_tracer(
            views,
            self._builder.place,
            self._interpreter,
            self._config,
            seconds=trace_seconds(situation.baseline.check("pytest")),
            is_test=self._builder.protection.is_test,
        )
        known: dict[str, Trace | None] = {}

        def kept(patch: Patch, failing: Sequence[Case], passing: Sequence[str]) -> Check:
            self._listen(Event("stage", "trace"))
            check = tracer(patch, failing, passing)
            self.traces.append((patch, check.coverage or {}))
            return check

        def trace(state: PromptState) -> Trace | None:
            start = self._builder.start
            key = judge.digest(state.patch, {path: start.read(path) for path in state.patch.files}, exact=True)
            if key not in known:
                text = self._client.recall_trace(key)
                known[key] = Trace.load(text) if text else computed(state)
                if text is None:
                    self._client.remember_trace(key, Trace.dump(known[key]))
            return known[key]

        def computed(state: PromptState) -> Trace | None:
            read, is_code = self._builder.tree(state.patch).read, self._builder.is_code
            cases = {test: case for test, case in state.cases.items() if test not in situation.flaky}
            seen = self._observed(state.patch) if self._observed else None
            return traced(kept, state.patch, cases, read, is_code, seen=seen)

        return trace
