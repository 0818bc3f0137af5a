"""The nouns of coderefine: frozen values and the Protocols that plug-ins satisfy."""

from coderefine.core.attempts import Attempt, Verdict
from coderefine.core.cases import Case, Coverage, Failure, Frame, Status
from coderefine.core.checks import Ask, Check
from coderefine.core.events import EVENTS, Event, Listen
from coderefine.core.findings import Finding, Identity, Severity, Span
from coderefine.core.freedom import Freedom, Needs
from coderefine.core.offers import PLAUSIBLE, Alternative, Offer, Question
from coderefine.core.outcomes import Evidence, Outcome, Stop
from coderefine.core.patches import EMPTY, Patch
from coderefine.core.plugins import Comparer, Critic, Proposals, Proposer, Publisher, Searcher, Situation, TestRunner
from coderefine.core.spending import Cost, Limits
from coderefine.core.tasks import FIX, Look, Read, Reward, Task
from coderefine.core.views import Entry, Finished, View, Views

__all__ = [
    "EMPTY",
    "EVENTS",
    "FIX",
    "PLAUSIBLE",
    "Alternative",
    "Ask",
    "Attempt",
    "Case",
    "Check",
    "Comparer",
    "Cost",
    "Coverage",
    "Critic",
    "Entry",
    "Event",
    "Evidence",
    "Failure",
    "Finding",
    "Finished",
    "Frame",
    "Freedom",
    "Identity",
    "Limits",
    "Listen",
    "Look",
    "Needs",
    "Offer",
    "Outcome",
    "Patch",
    "Proposals",
    "Proposer",
    "Publisher",
    "Question",
    "Read",
    "Reward",
    "Searcher",
    "Severity",
    "Situation",
    "Span",
    "Status",
    "Stop",
    "Task",
    "TestRunner",
    "Verdict",
    "View",
    "Views",
]
