"""The model as a proposer."""

from coderefine.proposers.model.proposer import Model

__all__ = ["Model"]
