"""Runs the real loop on a real repository; only the proposer is written by the test."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from coderefine.config import Config
from coderefine.core import (
    Ask,
    Attempt,
    Check,
    Cost,
    Coverage,
    Critic,
    Event,
    Limits,
    Outcome,
    Patch,
    Proposals,
    Proposer,
    Situation,
    View,
    Views,
    WrappedTests,
)
from coderefine.critics import build
from coderefine.loop.behaviour import Behaviour
from coderefine.loop.fast_proof import FastProof
from coderefine.loop.refine import refine
from coderefine.loop.special_cases import Guard
from coderefine.loop.state import Parts
from coderefine.loop.strength import Strength
from coderefine.project import Protection, interpreter, locate
from coderefine.workspace import open_views
from coderefine.workspace.originals import Originals

Step = Mapping[str, str] | Callable[[Situation], Mapping[str, str]]


@dataclass
class Script:
    """Proposes `steps` one after the other, each a map of path -> new text laid over the best so far."""

    steps: Sequence[Step]
    name: str = "script"
    seen: list[Situation] = field(default_factory=list)
    asked: int = 0
    costs_requests: bool = False
    traces: list[tuple[Patch, Coverage]] = field(default_factory=list)

    @property
    def spent(self) -> Cost:
        return Cost(requests=self.asked) if self.costs_requests else Cost()

    def propose(self, situation: Situation, views: Views) -> Proposals:
        for step in self.steps:
            self.seen.append(situation)
            files = step(situation) if callable(step) else step
            self.asked += 1
            patch = situation.best.patch.then(
                {path: text.encode() for path, text in files.items()}, origin=self.name, summary=f"step {self.asked}"
            )
            situation = yield patch
        self.seen.append(situation)


@dataclass(frozen=True)
class Lasting(WrappedTests):
    """`critic`, whose checks say that they took `seconds`."""

    seconds: float

    def check(self, view: View, ask: Ask) -> Check:
        return replace(self.critic.check(view, ask), seconds=self.seconds)


@dataclass
class Ran:
    outcome: Outcome
    events: list[Event]
    recorded: list[Attempt]


def run(
    top: Path,
    *proposers: Proposer,
    limits: Limits = Limits(),
    advice: Sequence[Critic] = (),
    lasting: float | None = None,
    special: Guard | None = None,
    strength: bool = False,
    earlier: Sequence[Attempt] = (),
    keeps: bool = False,
    **settings: object,
) -> Ran:
    """refine() on the repository at `top`, the way `coderefine fix` wires it. `lasting`: seconds each check claims.

    `earlier`: attempts of the run that is resumed. `keeps`: whether patches must not change behaviour.
    """
    place = locate([top], top)
    config = Config(**settings)  # type: ignore[arg-type]
    protection = Protection.of(place, config)
    python = interpreter(place, config, os.environ)
    events: list[Event] = []
    recorded: list[Attempt] = []
    originals = Originals(place.top)
    critics = build(place, python, config, events.append)
    with open_views(place, kind=config.view) as views:
        outcome = refine(
            Parts(
                views=views,
                critics=critics if lasting is None else [Lasting(critic, lasting) for critic in critics],
                proposers=proposers,
                original=originals.__getitem__,
                reason=protection.reason,
                scope=place.scope,
                limits=limits,
                listen=events.append,
                record=recorded.append,
                edited=originals.edited,
                advice=advice,
                special=special,
                earlier=earlier,
                behaviour=Behaviour(place, python, config) if keeps else None,
                strength=Strength(place, python, config) if strength else None,
                fast=FastProof(place.top, protection.is_test, protection.plugins).select if config.fast_proof else None,
            )
        )
    return Ran(outcome, events, recorded)
