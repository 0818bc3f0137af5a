"""Asks a model for the repair: one request when the first answer is right."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

from coderefine.config import Config
from coderefine.core import EMPTY, FIX, Cost, Event, Listen, Proposals, Situation, Task, Views
from coderefine.llm.client import Client
from coderefine.project import Place, Protection
from coderefine.proposers.model.policies import policy
from coderefine.proposers.model.question import Asking
from coderefine.proposers.model.talk import Talk


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
    ) -> None:
        """`under`: files as they were at the run's start, where the user's tree has others by now."""
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
        del views  # text is read from the user's tree and laid under the patch in memory; nothing is run
        chosen = policy(self._config.policy)
        talk = Talk(self._asking, self._client, chosen)
        while True:
            best = situation.best.number
            talk.forget()
            for move in chosen.moves():
                with closing(talk.patches(move, situation)) as patches:
                    for patch in patches:
                        situation = yield patch
                if talk.hopeless and not talk.escalated(move):
                    self._listen(Event("note", "the model has nothing usable to say"))
                    return
                if situation.best.number != best:
                    break
            else:
                return
