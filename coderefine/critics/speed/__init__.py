"""The speed adviser: it measures a patched tree against the tree that it has to beat."""

from coderefine.critics.speed.critic import Speed
from coderefine.critics.speed.speedup import MeasureOptions, measure

__all__ = ["MeasureOptions", "Speed", "measure"]
