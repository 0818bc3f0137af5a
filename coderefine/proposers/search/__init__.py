"""Repair failing tests without a model: try hundreds of generic edits of suspicious statements, and judge each."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import PurePosixPath
from types import MappingProxyType

from coderefine.config import Config
from coderefine.core import (
    Ask,
    Case,
    Cost,
    Coverage,
    Event,
    Listen,
    Offer,
    Patch,
    Proposals,
    Searcher,
    Situation,
    Status,
    Views,
)
from coderefine.core.plurals import counted, listed
from coderefine.errors import CriticError, RunnerError
from coderefine.project import Interpreter, Place, Protection
from coderefine.proposers.search.choice import Chosen, choose
from coderefine.proposers.search.confidence import Rivals, answers, bonuses, compared, rival_sets, with_strength
from coderefine.proposers.search.enumeration import Enumeration, Proposed
from coderefine.proposers.search.failures import (
    Symptom,
    broken,
    failed_again,
    first_on,
    in_order,
    symptoms,
    to_repair,
    to_repeat,
)
from coderefine.proposers.search.observation import Observation, function_of, ranked, run_through
from coderefine.proposers.search.offering import offer, summary
from coderefine.proposers.search.past import MOST_FILES, Ages, PastChange, changes, former
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.spectrum import Spectrum
from coderefine.proposers.search.validate import DOUBT, FEW, Clock, Repair, Trial, beside, described, passing
from coderefine.runner.candidates import Candidate, Comparison, Plan
from coderefine.runner.cold import is_deadly, run_tests
from coderefine.runner.cold_pool import AnyPool, ColdPool, open_any_pool
from coderefine.runner.pool import Pool
from coderefine.runner.test_selection import files_near, files_of, to_watch

ALONE, TURN = 30.0, 8.0
"""Default time limit of the search in seconds: ALONE if no model follows the search, TURN if a model follows it."""
OBSERVING, MOST_OBSERVING = 0.15, 3.0
"""Share of the remaining time, and maximum seconds, for tracing the failing tests and the tests near them."""
MOST_SEARCHES = 3
"""Maximum number of searches on one tree: if all repairs of a search are refused, the tree is searched again."""
UNKNOWN = (
    "no line of the program is known to run in a failing test: if the tests start it as another process, add a "
    "test that calls it"
)
UNPARSED = ("SyntaxError", "IndentationError", "TabError")
SCREENING = 10.0
"""Maximum seconds for judging the remaining repairs by the tests that a refused repair broke."""
COMPARING = 2.0
"""Maximum seconds for comparing plausible repairs by behaviour."""


class Search(Searcher):
    """The offline proposer: it repairs failing tests without a model."""

    name = "search"

    def __init__(
        self,
        place: Place,
        interpreter: Interpreter,
        config: Config,
        protection: Protection,
        listen: Listen = lambda _: None,
        *,
        alone: bool = True,
        fork: bool = sys.platform != "win32",
        under: Mapping[str, bytes | None] = MappingProxyType({}),
        open_pool: Callable[..., AbstractContextManager[AnyPool]] = open_any_pool,
    ) -> None:
        """Create the proposer.

        `alone`: whether no model follows the search, so that it may take longer. `fork`: if False, judge candidates in
        cold processes. `under`: by path, the content that a file has in the views, if it differs from the file in the
        user's tree (staged changes). `open_pool`: used in place of `open_any_pool`.
        """
        self._open_pool = open_pool
        self._fork = fork
        self._under = under
        self._limit = (ALONE if alone else TURN) if config.search_time is None else config.search_time
        self._place = place
        self._interpreter = interpreter
        self._config = config
        self._protection = protection
        self._listen = listen
        self._runs = 0
        self._seconds = 0.0
        self._fastest = "hot"
        self._promised: frozenset[str] = frozenset()
        """The failing tests that the last proposed patch made pass when the search judged it."""
        self._loaded: frozenset[str] = frozenset()
        """Tests in the test files that the servers of the last search had loaded."""
        self._judging: frozenset[str] = frozenset()
        """The tests of `_loaded` that were run on candidates (see `Pool.fit`)."""
        self._patches: dict[int, Patch] = {}
        self.traces: list[tuple[Patch, Coverage]] = []
        """The lines that tests execute, with the patch of the tree on which they do."""
        self._seen: tuple[Patch, Observation] | None = None
        """The observation of the last search, with the patch of its tree."""
        self._together: set[frozenset[str]] = set()
        """Sets of failing tests; the tests of a set ran the same statement, which few passing tests ran.

        The sets are collected over all searches, see `Spectrum.connects`. Tests that no longer fail are removed.
        """
        self._entered: dict[tuple[str, ...], frozenset[str]] = {}
        """The failing tests that ran a statement, by (path, function, text of the statement), over all searches.

        The shorter key (path, function) has the failing tests that ran any statement of this function for which
        `Spectrum.connects` is true.
        """
        self._aside: frozenset[str] = frozenset()
        """Failing tests that this search ignores, because repairs of these tests were offered."""
        self._ages = Ages(place.top if place.git_dir else None, lambda path: self._read(Patch(), path))
        self._changes: dict[str, tuple[PastChange, ...]] = {}
        """Recent changes of the most suspicious files, by path."""
        self.chosen = Chosen([])
        """Result of the last search."""
        self._failed: set[int] = set()
        """Keys of the candidates that failed or were refused on the present tree: they are not tried again."""
        self._unforeseen = False
        """Whether a proposal broke a test that the search had not loaded. In this case, the search is not repeated,
        because it would propose more such patches."""
        self._unsolved: frozenset[Symptom] = frozenset()
        """Symptoms of the last search without a result: a tree with the same symptoms is not searched again."""

    @property
    def spent(self) -> Cost:
        return Cost(seconds=self._seconds, test_runs=self._runs)

    def propose(self, situation: Situation, views: Views) -> Proposals:
        """Yield patches, best first; each contains all edits that were accepted before.

        After a search with an accepted or offered patch, search again for the tests that still fail and have no offer.
        If all repairs of a search are refused, search again without these repairs. Stop after MOST_SEARCHES such
        searches in a row, after a search without repairs, when time is over, or if `_unforeseen` becomes true.
        """
        searches = 0
        while self._wanted(situation):
            before, found = situation, self._ranked(situation, views)
            situation = yield from self._each(found, situation, views)
            if situation.best is not before.best or situation.offered != before.offered:
                searches, self._failed = 0, set()
                continue
            searches += 1
            if not found or searches == MOST_SEARCHES or self._unforeseen:
                self._unsolved = symptoms(situation)
                return
            self._failed.update(proposed.key for repair in found for proposed in repair.edits)

    def observed(self, patch: Patch) -> Observation | None:
        """Return what the last search observed, if it was on the tree with this patch."""
        return self._seen[1] if self._seen and self._seen[0].files == patch.files else None

    def _each(
        self, found: Sequence[Repair], situation: Situation, views: Views
    ) -> Generator[Patch, Situation | None, Situation]:
        """Yield a patch for each of the repairs `found`, best first; return the last situation.

        The caller sends the situation after each patch (None: unchanged). Repairs that `_take` refuses are skipped. The
        edits of an accepted repair are added to all further patches. After a refused patch, the repairs that break the
        same tests are dropped.
        """
        repairs, accepted = [*found], list[Repair]()
        while repairs:
            repair, best = repairs.pop(0), situation.best
            if not self._take(repair, situation):
                continue
            assert self.proposed is not None
            situation = (yield self.proposed) or situation
            if situation.best is not best:
                accepted.append(repair)
                repairs = self._rebased(situation, repairs, accepted)
            else:
                self._compare(situation, self.proposed)
                repairs = self._without_breaking(situation, views, repair, repairs)
        return situation

    def _rebased(self, situation: Situation, repairs: list[Repair], accepted: Sequence[Repair]) -> list[Repair]:
        """Return those of `repairs` whose tests all still fail, with the edits of `accepted` added; update `chosen`.

        Repairs whose edits overlap with those of `accepted` are left out. Return [] if the best patch does not contain
        the last proposed patch.
        """
        if self.proposed is None or not self.proposed.files.items() <= situation.best.patch.files.items():
            return []
        left = {case.id for case in to_repair(situation)}
        rebased = beside(accepted, [repair for repair in self.chosen.repairs if repair.fixed <= left])
        self.chosen = self.chosen.mapped(rebased)
        self._patches = {id(repair): self._patch(situation, repair) for repair in self.chosen.repairs}
        return [rebased[id(repair)] for repair in repairs if id(repair) in rebased]

    def _take(self, repair: Repair, situation: Situation) -> bool:
        """Make `repair` the next proposal, and return True; return False if `repair` must not be proposed.

        A repair must not be proposed if patches for one of its tests were offered, or if it combines two repairs of
        which one is doubtful: the two are proposed separately. Doubts do not matter if the setting `accept` is
        "plausible".
        """
        if repair.fixed & situation.offered:
            return False
        known = self._rivals_of(repair)
        doubtful = next((rivals for rivals in known if rivals.doubt_of(repair)), None)
        if repair.parts and doubtful and self._config.accept != "plausible":
            return False
        self.alternatives = tuple(self._patches[id(other)] for other in self._equals(repair))
        self._promised = repair.fixed
        self.proposed = self._patches[id(repair)]
        self.changed = self.chosen.changed(repair)
        self.offer = self._offered(doubtful, repair, situation)
        same = next((rivals for rivals in known if rivals.fixed == repair.fixed), None)
        self.rivals = self._offered(same, repair, situation)
        return True

    def _offered(self, rivals: Rivals | None, repair: Repair, situation: Situation) -> Offer | None:
        roots = self._protection.import_roots
        return offer(rivals, repair, situation.best.patch, self._read, roots) if rivals else None

    def _equals(self, repair: Repair) -> Iterator[Repair]:
        return (other for other in self.chosen.repairs if other is not repair and other.fixed == repair.fixed)

    def _rivals_of(self, repair: Repair) -> list[Rivals]:
        """Return the Rivals of the tests that `repair` fixes; for a combination of two repairs, the Rivals of each."""
        wanted = repair.parts or (repair.fixed,)
        return [rivals for rivals in self.chosen.sets if rivals.fixed in wanted]

    def _compare(self, situation: Situation, patch: Patch) -> None:
        """Report a test that passed when the search judged `patch` in a fork, but failed in the cold run of `patch`.

        If there is one, judge candidates by the slower warm server from now on, no longer by the hot server.
        """
        tried = situation.attempts[-1] if situation.attempts else situation.best
        wrong = [name for name, case in tried.cases.items() if case.status.bad and name in self._promised]
        if tried.patch.files == patch.files and wrong:
            self._fastest = "warm"
            self._listen(Event("note", f"search: {wrong[0]} passed in a fork of the warm tests and fails cold"))

    def _without_breaking(
        self, situation: Situation, views: Views, refused: Repair, repairs: list[Repair]
    ) -> list[Repair]:
        """Return `repairs` without those that break the same tests as the last proposal, `refused`, in its cold run.

        This saves the cold runs of these repairs. Also set `_unforeseen` if the search had not loaded a broken test.
        """
        names = broken(situation, self.proposed)
        self._unforeseen = self._unforeseen or not self._loaded.issuperset(names)
        return self._passing(situation, views, refused, repairs, names) if names else repairs

    def _passing(
        self, situation: Situation, views: Views, refused: Repair, repairs: list[Repair], names: list[str]
    ) -> list[Repair]:
        """Return the `repairs` that pass the tests broken by `refused`; remove the others and `refused` from `chosen`.

        `names`: the tests that `refused` broke; `to_repeat` selects the tests that are run. Repairs that cannot be
        judged, or not in time, are kept. If another repair is now the first of its rivals, its mutants are judged.
        """
        self.chosen = self.chosen.without([refused])
        if not repairs:
            return []
        self._listen(Event("stage", f"search: {counted(len(repairs), 'other repair')} and {names[0]}"))
        clock = Clock(min(SCREENING, situation.seconds_left or SCREENING))
        tests = to_repeat(names, self._judging, situation.best.cases)
        failed, kept = [case.id for case in to_repair(situation)], repairs
        try:
            with self._pool(situation, views, files_of([*failed, *tests]), clock) as pool:
                kept = passing(pool, repairs, tests, clock, frozenset(failed))
                self.chosen = self.chosen.without([repair for repair in repairs if repair not in kept])
                if not all(rivals.is_measured for rivals in self.chosen.sets):
                    pool.observe(failed, tests, clock.left)
                    sets = (self._with_strength(rivals, pool, clock.left, situation) for rivals in self.chosen.sets)
                    self.chosen = replace(self.chosen, sets=tuple(sets))
        except RunnerError as error:
            self._listen(Event("note", f"search: {error}"))
        return kept

    def _wanted(self, situation: Situation) -> bool:
        left = self._limit - self._seconds
        found = symptoms(situation)
        return bool(found) and found != self._unsolved and min(left, situation.seconds_left or left) > 0.5

    def _ranked(self, situation: Situation, views: Views) -> list[Repair]:
        """Run one search and return all its repairs, best first; errors of the servers are reported, not raised."""
        began, runs = time.monotonic(), self._runs
        limit = self._limit - self._seconds
        clock = Clock(min(limit, situation.seconds_left or limit))
        self.chosen, self.hindrance = Chosen([]), ""
        try:
            self._search(situation, views, clock)
        except (RunnerError, CriticError) as error:
            self._listen(Event("note", f"search: {error}"))
            self.hindrance = f"search could judge no candidate: {error}" if self._runs == 0 else ""
        if not (self.chosen.repairs or self.hindrance) and clock.left <= 0:
            tried = counted(self._runs - runs, "candidate") if self._runs > runs else "no candidate"
            self.hindrance = f"search judged {tried} until its time was over: --search-time SECONDS allows more"
        self._seconds += time.monotonic() - began
        self._patches = {id(repair): self._patch(situation, repair) for repair in self.chosen.repairs}
        return self.chosen.repairs

    def _search(self, situation: Situation, views: Views, clock: Clock) -> None:
        """Find repairs and store them in `chosen`.

        Raises RunnerError if no failing test can be judged, or if there is no statement that may be changed.
        """
        failing = to_repair(situation)
        self._listen(Event("stage", f"search: loading {counted(len(failing), 'failing test')} and those near"))
        near = files_near([case.id for case in failing], list(situation.best.cases))
        with self._pool(situation, views, near, clock) as pool:
            self._loaded = frozenset(pool.tests)
            if isinstance(pool, ColdPool) and self._fork:
                self._listen(Event("note", f"search: {pool.why}; every candidate is a cold run"))
            seen = self._observation(situation, views, pool, failing, clock)
            self._seen = situation.best.patch, seen
            sites, spectrum = ranked(seen, self._changes)
            for site in sites:
                self._past(site.module.path)
            asked = in_order(failing, pool, frozenset().union(*spectrum.failing.values()))
            if not asked and isinstance(pool, Pool):
                raise RunnerError('no failing test ends here as it does in a cold run (`sandbox = "off"` may help)')
            if not sites:
                raise RunnerError(self._why_no_site(failing, seen.coverage))
            self._listen(Event("stage", f"search in {counted(len(sites), 'statement')}"))
            self._connect(situation, sites, spectrum)
            enumeration, first = Enumeration(sites), first_on(failing, asked, spectrum.failing)
            trial = Trial(
                pool,
                asked,
                clock,
                self._report_progress,
                lambda proposed: spectrum.blaming(proposed.scored.site.stmt),
                first=lambda proposed: first.get(proposed.scored.site.stmt, ()),
                fastest=self._fastest,
                prefer=enumeration.prefer,
                failed=self._failed,
            )
            self.chosen = self._tried(trial, iter(enumeration), situation, spectrum)
            self._judging = frozenset(pool.fit if isinstance(pool, Pool) else pool.tests)

    def _connect(self, situation: Situation, sites: list[Site], spectrum: Spectrum) -> None:
        """Record which failing tests run the same code (`_together`, `_entered`), and which are ignored (`_aside`)."""
        standing = {case.id for case in to_repair(situation)} | situation.offered
        self._together = {tests & standing for tests in {*self._together, *spectrum.together}}
        self._aside = situation.offered
        for site in sites:
            function, tests = function_of(site), spectrum.failing.get(site.stmt, frozenset())
            for key in ((*function, site.code(site.stmt)), *([function] if spectrum.connects(site.stmt) else [])):
                self._entered[key] = self._entered.get(key, frozenset()) | tests

    def _pool(
        self, situation: Situation, views: Views, files: list[str] | None, clock: Clock
    ) -> AbstractContextManager[AnyPool]:
        """Open a pool whose servers load the test files `files` (None: all)."""
        cases, failing = situation.best.cases, to_repair(situation)
        deadly = frozenset(case.id for case in failing if is_deadly(case))
        return self._open_pool(
            views,
            self._place,
            self._interpreter,
            self._config,
            patch=situation.best.patch,
            expected={name: case.status for name, case in cases.items()},
            deadly=deadly,
            seconds={name: case.seconds for name, case in cases.items() if name not in deadly},
            files=files,
            imports=sorted(path for path in run_through(situation.trace, failing) if self._free(path)),
            freedom=situation.freedom,
            within=clock.left,
            listen=self._listen,
            fork=self._fork,
            or_cold=True,
        )

    def _tried(self, trial: Trial, proposals: Iterator[Proposed], situation: Situation, spectrum: Spectrum) -> Chosen:
        """Judge `proposals` and return the repairs.

        Search a little longer if there is evidence against the best repair, or if a repair would be applied although
        few tests reach it: such a repair probably has rivals.
        """
        try:
            trial.run(proposals)
            trial.fall_back()
            chosen = self._chosen(trial, situation, spectrum)
            if (chosen.doubtful or chosen.hasty) and trial.clock.left > 0:
                self._listen(Event("stage", "search: looking for rivals"))
                if trial.extend(proposals, DOUBT if chosen.doubtful else FEW):
                    return self._chosen(trial, situation, spectrum)
            return chosen
        finally:
            self._runs += trial.tried
            if self.first_candidate is None:
                self.first_candidate = trial.first_judged

    def _chosen(self, trial: Trial, situation: Situation, spectrum: Spectrum) -> Chosen:
        """Return the repairs that the trial found, best first.

        To order them, compare how the most likely repairs behave in the tests' calls and in variants of these calls.
        """
        repairs, pool = [self._described(repair) for repair in trial.repairs], trial.pool
        likely = compared(repairs)
        comparison = self._comparison(likely, pool, situation) if likely else Comparison()
        rest = [repair for repair in repairs if repair not in likely]
        sets = rival_sets(
            likely,
            comparison,
            trial.frontier,
            spectrum,
            together=self._together,
            aside=lambda site: self._ran(site) & self._aside,
            every=repairs,
            passing=self._passing_aside(likely, pool),
        )
        sets = tuple(self._with_age(self._with_strength(rivals, pool, trial.clock.left, situation)) for rivals in sets)
        return replace(choose([*likely, *rest], answers(comparison), bonuses(likely, comparison, spectrum)), sets=sets)

    def _passing_aside(self, repairs: Sequence[Repair], pool: AnyPool) -> dict[int, frozenset[str]]:
        """Return, by `id()` of each repair, the tests that run the repair's code and pass with the repair.

        Only tests in `_aside` count (tests for which a repair was already offered). Repairs whose code no such test
        runs are left out.
        """
        aside = self._aside & frozenset(pool.tests)
        ran = [self._ran(repair.proposed.scored.site) & aside for repair in repairs]
        if not any(ran):
            return {}
        pool.observe((), sorted(frozenset().union(*ran)))
        fit = frozenset(pool.fit if isinstance(pool, Pool) else pool.tests)
        wanted = [tuple(sorted(tests & fit)) for tests in ran]
        candidates = (Candidate(at, repairs[at].files, first=tests) for at, tests in enumerate(wanted) if tests)
        found: dict[int, frozenset[str]] = {}
        for judged in pool.judge(candidates, Plan(then=(), keep_going=True, retry=0.0)):
            at = judged.candidate.number
            passed = (name for name in wanted[at] if judged.statuses.get(name) is Status.PASSED)
            found[id(repairs[at])] = frozenset(passed)
        return found

    def _ran(self, site: Site) -> frozenset[str]:
        """Return the failing tests that ran the statement of `site`, as recorded in `_entered`.

        Add the failing tests that ran another statement of its function for which `Spectrum.connects` is true.
        """
        function = function_of(site)
        return frozenset().union(*(self._entered.get(key, ()) for key in (function, (*function, site.code(site.stmt)))))

    def _described(self, repair: Repair) -> Repair:
        """Return `repair` with values for its fields `ignores`, `meaning`, `ordinary` and `former`, where possible.

        `former` is set only if the repair changes a single file; for the other fields, see `described`.
        """
        module = repair.proposed.scored.site.module
        repair = described(repair)
        if repair.files.keys() != {module.path}:
            return repair
        return replace(repair, former=former(module, repair.files[module.path], self._past(module.path)))

    def _past(self, path: str) -> tuple[PastChange, ...]:
        """Return the recent changes of the file; () without git, or if MOST_FILES other files were looked up before."""
        if self._place.git_dir is not None and path not in self._changes and len(self._changes) < MOST_FILES:
            self._changes[path] = changes(self._place.top, path, self._read(Patch(), path) or b"")
        return self._changes.get(path, ())

    def _with_strength(self, rivals: Rivals, pool: AnyPool, seconds: float, situation: Situation) -> Rivals:
        """Judge mutants of the first repair; return `rivals` with the results in the features of the first group.

        `seconds`: see `confidence.with_strength`. If mutants were judged before, return `rivals` unchanged.
        """
        if rivals.is_measured:
            return rivals
        self._listen(Event("stage", "search: strength of the likeliest repair"))
        first = rivals.groups[0]
        failing = frozenset(name for name, case in situation.best.cases.items() if case.status.bad)
        features = with_strength(first.features, pool, first.repairs[0], seconds, self._listen, failing=failing)
        return replace(rivals, groups=(replace(first, features=features), *rivals.groups[1:]))

    def _with_age(self, rivals: Rivals) -> Rivals:
        """Return `rivals` with a value for the feature `anew` of each group."""
        sites = [group.repairs[0].proposed.scored.site for group in rivals.groups]
        ages = [self._ages.are_newer(rivals.fixed, *function_of(site)) for site in sites]
        pairs = zip(rivals.groups, ages, strict=True)
        groups = (replace(group, features=replace(group.features, anew=anew)) for group, anew in pairs)
        return replace(rivals, groups=tuple(groups))

    def _comparison(self, repairs: list[Repair], pool: AnyPool, situation: Situation) -> Comparison:
        """Compare the behaviour of `repairs` on the tests' calls and on variants of these calls.

        Return an empty comparison if this fails.
        """
        self._listen(Event("stage", f"search: comparing {counted(len(repairs), 'repair')}"))
        candidates = [Candidate(place + 1, repair.files) for place, repair in enumerate(repairs)]
        first = [case.id for case in to_repair(situation)]
        tests = [*first, *(name for name in pool.tests if name not in set(first))]
        repaired = {name: one.number for one, repair in zip(candidates, repairs, strict=True) for name in repair.fixed}
        seconds = max(0.0, min(COMPARING, situation.seconds_left or COMPARING))
        try:
            return pool.probe(candidates, tests, seconds, first, repaired)
        except RunnerError:
            return Comparison()

    def _report_progress(self, tried: int, found: int) -> None:
        self._listen(Event("search", f"{tried} candidates, {found} plausible", done=tried))

    def _observation(
        self, situation: Situation, views: Views, pool: AnyPool, failing: list[Case], clock: Clock
    ) -> Observation:
        """Trace the failing tests and the tests near them; read the files that failing tests execute, and files nearby.

        Raises RunnerError if the failing tests execute protected files only.
        """
        self._listen(Event("stage", f"search: watching {counted(len(failing), 'failing test')} and those near"))
        coverage = self._observed(situation, views, pool, failing, clock)
        self.traces.append((situation.best.patch, coverage))
        imported = self._imported(situation, views, pool, failing, coverage)
        entered = run_through({**coverage, **imported}, failing)
        files = self._without_protected(entered, self._files(situation, entered | self._neighbours(entered)))
        editable = frozenset(entered & files.keys())
        return Observation(
            failing,
            coverage,
            files,
            editable,
            self._files(situation, {case.path for case in failing}),
            imported,
            pool.steps,
            {path: self._protection.helpers(path, files[path]) for path in editable},
        )

    def _observed(
        self, situation: Situation, views: Views, pool: AnyPool, failing: list[Case], clock: Clock
    ) -> Coverage:
        """Return the executed lines by test, as traced in the pool. On the unpatched tree, also extend `failed_again`.

        If a failing test could not be traced in the pool, add lines from a cold run.
        """
        names = [case.id for case in failing if case.id in pool.tests]
        passing = [name for name in pool.tests if (case := situation.best.cases.get(name)) and not case.status.bad]
        coverage = pool.observe(names, passing, min(MOST_OBSERVING, OBSERVING * clock.left))
        if not situation.best.patch:
            self.failed_again |= failed_again(pool, failing)
        wanted = to_watch(names, {case.id: case.seconds for case in failing})
        cold = {} if coverage.keys() >= set(wanted) else situation.trace or self._cold_coverage(situation, views, names)
        return {**cold, **coverage}

    def _imported(
        self, situation: Situation, views: Views, pool: AnyPool, failing: list[Case], found: Coverage
    ) -> Coverage:
        """Return the lines executed while test modules are imported, for failing tests whose own lines say too little.

        `found`: the executed lines by test. Lines are returned for test modules that cannot be imported. If no traced
        failing test runs a line of the program, lines are also returned for all traced failing tests: their modules may
        call the program when they are imported, for example to create a class.
        """
        names = [case.id for case in failing if case.id in pool.broken]
        watched = [case.id for case in failing if case.id in found and case.id in pool.tests]
        if not any(map(self._free, itertools.chain.from_iterable(found[name] for name in watched))):
            names += watched
        trace = (situation.trace or self._cold_coverage(situation, views, names)) if names else {}
        return dict.fromkeys(names, trace.get("", {}))

    def _cold_coverage(self, situation: Situation, views: Views, names: list[str]) -> Coverage:
        """Return the executed lines by test from a cold run; tests that hang or crash are left out."""
        chosen = tuple(name for name in names if not is_deadly(situation.best.cases[name]))
        if not chosen:
            return {}
        ask = Ask(tests=chosen, coverage=True, rich=False, seed=0, timeout=max(1.0, self._limit / 3))
        with views.open(situation.best.patch) as view:
            return run_tests(view, self._place, self._interpreter, self._config, ask).coverage or {}

    def _free(self, path: str) -> bool:
        return self._protection.reason(path) is None and not self._protection.is_test(path)

    def _without_protected(self, paths: set[str], files: Mapping[str, bytes]) -> dict[str, bytes]:
        """Return those of `files` that may be changed. `paths`: the files that the failing tests run.

        Raises RunnerError if the failing tests run protected files, but none that may be changed.
        """
        others = {path: data for path, data in files.items() if self._free(path)}
        if others.keys().isdisjoint(paths) and (shut := self._shut(paths)):
            raise RunnerError(shut)
        return others

    def _why_no_site(self, failing: list[Case], coverage: Coverage) -> str:
        """Return why there is no statement that may be changed."""
        return _unparsed(failing) or self._shut(run_through(coverage, failing)) or UNKNOWN

    def _shut(self, paths: Iterable[str]) -> str:
        """Return a message with the reasons why files among `paths` are protected; "" if none is protected.

        Protected tests do not count, but local plug-ins of pytest do.
        """
        rules = self._protection
        code = (path for path in sorted(paths) if path in rules.plugins or not rules.is_test(path))
        reasons = tuple(filter(None, map(rules.reason, code)))
        return f"the failing tests run no code that may be changed: {listed(reasons)}" if reasons else ""

    def _neighbours(self, paths: set[str]) -> set[str]:
        """Return up to 40 Python files from each folder with an unprotected file of `paths`: edits may copy code."""
        found = set()
        for folder in {PurePosixPath(path).parent for path in paths if self._free(path)}:
            for file in sorted((self._place.top / folder).glob("*.py"))[:40]:
                found.add((folder / file.name).as_posix())
        return found

    def _files(self, situation: Situation, paths: set[str]) -> dict[str, bytes]:
        """Return, by path, the content of those of `paths` that are Python files and exist."""
        found = ((path, self._read(situation.best.patch, path)) for path in sorted(paths) if path.endswith(".py"))
        return {path: data for path, data in found if data is not None}

    def _read(self, patch: Patch, path: str) -> bytes | None:
        for files in (patch.files, self._under):
            if path in files:
                return files[path]
        try:
            return (self._place.top / path).read_bytes()
        except OSError:
            return None

    def _patch(self, situation: Situation, repair: Repair) -> Patch:
        return situation.best.patch.then(dict(repair.files), origin="search", summary=summary(repair))


def _unparsed(failing: Iterable[Case]) -> str:
    """Return a message if a test failed with a syntax error, because a module probably does not parse; "" if not."""
    failures = (case.failure for case in failing if case.failure and case.failure.exception in UNPARSED)
    return next((f"a module does not parse, correct this first: {failure.message}" for failure in failures), "")
