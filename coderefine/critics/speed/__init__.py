"""Speed as an adviser: a patch is measured beside the tree it has to beat."""

from coderefine.critics.speed.critic import Speed
from coderefine.critics.speed.measure import How, Measured, measure

__all__ = ["How", "Measured", "Speed", "measure"]
