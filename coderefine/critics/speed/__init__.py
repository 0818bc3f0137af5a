"""The speed adviser: it measures whether a patched tree is faster than the unchanged tree and the best attempt."""

from coderefine.critics.speed.critic import Speed
from coderefine.critics.speed.speedup import MeasureOptions, measure

__all__ = ["MeasureOptions", "Speed", "measure"]
