"""Speed as an adviser: a patch is measured against the tree it has to beat."""

from coderefine.critics.speed.critic import Speed
from coderefine.critics.speed.speedup import MeasureOptions, SpeedComparison, measure

__all__ = ["MeasureOptions", "Speed", "SpeedComparison", "measure"]
