"""Ways to spend a budget on a model; one module each, a literal registry."""

from __future__ import annotations

import importlib

from coderefine.proposers.model.plan import Policy

POLICIES = {
    "coderefine": "coderefine.proposers.model.policies.coderefine",
    "retry": "coderefine.proposers.model.policies.retry",
    "warming": "coderefine.proposers.model.policies.warming",
    "self-refine": "coderefine.proposers.model.policies.self_refine",
}
"""The config's word for a policy -> its module."""


def policy(name: str) -> Policy:
    """The policy called `name`, one of POLICIES."""
    found: Policy = importlib.import_module(POLICIES[name]).POLICY
    return found
