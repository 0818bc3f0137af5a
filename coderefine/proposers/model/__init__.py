"""The proposer that asks a language model."""

from coderefine.proposers.model.proposer import Model

__all__ = ["Model"]
