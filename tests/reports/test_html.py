"""The page about a run, in a real browser: complete, readable, reachable by keyboard, and inert."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from markdown_it import MarkdownIt

from coderefine.core import (
    Alternative,
    Attempt,
    Case,
    Check,
    Cost,
    Evidence,
    Executed,
    Finding,
    Mutation,
    Offer,
    Outcome,
    Patch,
    Question,
    Severity,
    Span,
    Status,
    Stop,
    Verdict,
)
from coderefine.reports.formats import RunReport, named
from tests.support.command import ORDER, TESTS, coderefine
from tests.support.repo import make_repo

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

AXE = Path(os.environ.get("TEST_NODE_MODULES", "/nowhere"), "axe-core", "axe.min.js")
"""Where npm put it; .ci says so."""
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
SECTIONS = ("patch", "attempts", "tests", "alternatives", "left")
FIRST_PAINT = """
const [name, done] = arguments;
new PerformanceObserver(list => list.getEntriesByName(name).forEach(one => done(one.startTime)))
  .observe({type: "paint", buffered: true});
"""
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)

HOSTILE = "</script><img src=x onerror=alert(1)><b>'\"&{{ 7*7 }}\u202e\x1b[31m\ud800"
SHOWN = "</script><img src=x onerror=alert(1)><b>'\"&{{ 7*7 }}[U+202E]\u241b[31m\ufffd"
OLD = b'''"""Prices."""

RATE = 0.1


def discount(total, rate=RATE):
    """Ten per cent from 100 on."""
    if total > 100:
        return total * rate
    return 0


def price(total):
    """What the customer pays."""
    return total - discount(total)
'''
NEW = (
    OLD.replace(b"> 100", b">= 100")
    .replace(b"    return 0\n", b"    # nothing below\n    return 0\n")
    .replace(b"total - discount", b"total - 1 * discount")
)
PATH = "shop/price.py"


def suite(failing: int, passing: int) -> Check:
    cases = [Case(f"tests/test_price.py::test_bad[{n}-{HOSTILE}]", Status.FAILED, 0.1) for n in range(failing)]
    cases += [Case(f"tests/test_price.py::test_bad[{n}-{HOSTILE}]", Status.PASSED, 0.1) for n in range(failing, 4)]
    cases += [Case(f"tests/test_price.py::test_good[{n}]", Status.PASSED, 0.01) for n in range(passing)]
    cases += [Case("tests/test_price.py::test_posix", Status.SKIPPED)]
    findings = [Finding("pytest", "failed", "tests/test_price.py", HOSTILE, Span(7, 7), case.id) for case in cases]
    return Check("pytest", tuple(findings[:failing]), {case.id: case for case in cases}, seconds=2.5)


def whole_run() -> RunReport:
    """A run that has something for every part of the page, hostile text wherever text can come from the project."""
    lint = Finding("ruff", "B006", PATH, f"mutable default {HOSTILE}", Span(6, 6), "f", HOSTILE, "use None")
    soft = Finding("review", "readability", PATH, "a long name", Span(6, 6), severity=Severity.SOFT)
    first = Patch({PATH: OLD.replace(b"> 100", b">= 100")}, "search", f"{PATH}:8 `>` → `>=`")
    mended = Patch({PATH: NEW, "shop/new.py": b"x = 1\n", "shop/logo.png": b"\0\1"}, "model", f"edit {HOSTILE}")
    attempts = (
        Attempt(0, Patch(), (suite(4, 40), Check("ruff", (lint,)))),
        Attempt(
            1, first, (suite(1, 40), Check("ruff", (lint,))), Verdict(True, "failing tests 4 → 1"), Cost(seconds=9.5)
        ),
        Attempt(2, replace(first, origin="model"), (), Verdict(False, HOSTILE), Cost(1, 1800, 220, 0.0011, 6.2)),
        Attempt(
            3,
            mended,
            (suite(0, 40), Check("ruff", (lint,))),
            Verdict(True, "failing tests 1 → 0"),
            Cost(1, 2000, 340, None, 8.1),
        ),
    )
    tests = tuple(case for case in attempts[0].cases)
    proof = Evidence(
        flipped=tests[:4],
        kept=40,
        flaky=(f"tests/test_price.py::test_clock {HOSTILE}",),
        covered=(3, 4),
        strength=(6, 8),
        isolation="overlay, network off",
        alternatives=(Patch({}, "search", f"{PATH}:8 `100` → `99` {HOSTILE}"),),
        notes=(f"changed besides what was asked: {HOSTILE}",),
        changed=(20, 673),
        executed=(
            Executed(PATH, Span(8, 8), tests[:20], 41),
            Executed(PATH, Span(16, 16)),
            Executed("shop/new.py", Span(1, 1), (), 0, True),
        ),
        survived=(Mutation(PATH, 8, "total >= 100", "total > 100"), Mutation(PATH, 8, HOSTILE, "0")),
    )
    twin = Patch({PATH: OLD.replace(b"> 100", b"> 99")}, "search", f"{PATH}:8 `100` → `99`")
    offer = Offer(
        (Alternative(first, (21, 27), 3), Alternative(twin, (22, 27))),
        frozenset(tests[:1]),
        f"the plausible patches behave in 2 ways {HOSTILE}",
        2,
        (
            Question("price(99.5)", "shop.price", ("99.5", "89.55")),
            Question(f"price({HOSTILE!r})", "shop.price", (HOSTILE, "")),
        ),
        before={PATH: OLD},
    )
    end = Outcome(
        attempts[3], attempts[0], Stop.NO_PROGRESS, "no further proposal", proof, (lint, soft), attempts,
        Cost(2, 3800, 560, None, 31.4), offers=(offer,),
    )  # fmt: skip
    before = {PATH: OLD, "shop/new.py": None, "shop/logo.png": b"\0"}
    return RunReport(
        end, (f"wrote {PATH} +3 −2 {HOSTILE}; undo: coderefine undo",), "261122-123226-895ab", before=before
    )


def long_run() -> RunReport:
    """5,000 tests, half of which fail at first; a diff of 3,000 lines; 20 attempts."""
    names = [f"tests/package/test_module_{n % 50}.py::TestClass::test_number[{n}-parameter]" for n in range(5000)]
    old = "".join(f"def function_{n}(value, other={n}):\n    return value + other * {n}  # {n}\n" for n in range(1500))
    new = old.replace("value + other", "value - other")
    path = "package/module.py"
    attempts = []
    for number in range(20):
        cases = {
            name: Case(name, Status.FAILED if (place * 7919) % 5000 < 2500 - 130 * number else Status.PASSED)
            for place, name in enumerate(names)
        }
        findings = tuple(
            Finding("pytest", "failed", "t.py", "assert 1 == 2", Span(1, 1), one.id)
            for one in cases.values()
            if one.status.bad
        )
        attempts.append(
            Attempt(
                number, Patch({path: new.encode()}, "search", "edit"), (Check("pytest", findings, cases, seconds=60.0),)
            )
        )
    executed = tuple(Executed(path, Span(2 * n, 2 * n), tuple(names[n : n + 20]), 900) for n in range(1, 1501, 5))
    best = attempts[-1]
    proof = Evidence(flipped=tuple(names[:2500]), executed=executed)
    end = Outcome(best, attempts[0], Stop.NO_PROGRESS, "", proof, best.findings, tuple(attempts))
    return RunReport(end, before={path: old.encode()})


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    webdriver = pytest.importorskip("selenium.webdriver")
    if not CHROMIUM or not DRIVER:
        pytest.skip("chromium or chromedriver is not here (apt-get install chromium chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The addresses of two pages."""
    folder = tmp_path_factory.mktemp("pages")
    reports = {"whole": whole_run(), "long": long_run()}
    for name, report in reports.items():
        (folder / f"{name}.html").write_text(named("html").outcome(report), "utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in reports}


@pytest.fixture
def page(browser: Chrome, pages: dict[str, str]) -> Chrome:
    emulate(browser, width=1280, theme="light")
    browser.get(pages["whole"])
    return browser


def emulate(browser: Chrome, *, width: int, theme: str) -> None:
    """Show pages in a window of `width` pixels to a reader who prefers `theme`."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)


def texts(page: Chrome, selector: str) -> list[str]:
    found: list[str] = page.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map(one => one.innerText.trim())", selector
    )
    return found


def test_every_section_is_there(page: Chrome) -> None:
    assert texts(page, "h1") == ["Proved: 4 failing tests are repaired; 1 finding remains."]
    assert texts(page, "section > h2") == ["Patch", "Attempts", "Tests", "Alternatives", "Findings left"]
    assert [one.get_attribute("id") for one in page.find_elements("css selector", "section")] == list(SECTIONS)
    assert texts(page, ".x .o") == ["if total > 100:", "return total - discount(total)"]
    assert texts(page, ".x .a") == [
        "x = 1", "if total >= 100:", "# nothing below", "return total - 1 * discount(total)"
    ]  # fmt: skip
    assert texts(page, ".x .a .k")[0] == "if"
    assert "".join(texts(page, ".x .a mark")) == "=1*"
    assert [text for text in texts(page, ".t") if text] == ["import", "41 tests", "no test"]
    assert texts(page, ".miss td:last-child")[0] == "No test notices total >= 100 → total > 100"
    assert texts(page, "#attempts .word") == ["start", "proved", "refused", "proved"]
    assert texts(page, "#attempts tbody tr:last-child .num") == ["8.1", "0", "2,340", "price unknown"]
    assert texts(page, ".strips .num") == ["4 failing", "1 failing", "0 failing"]
    assert texts(page, ".asked tbody tr:nth-child(1) td") == ["99.5", "89.55"]
    assert texts(page, ".card h3") == [f"1 {PATH}:8 `>` → `>=`", f"2 {PATH}:8 `100` → `99`"]
    assert len(page.find_elements("css selector", ".findings li")) == 2


def test_text_of_the_project_stays_text(page: Chrome) -> None:
    """Markup, template code, control characters and those that turn the reading direction around."""
    for section in SECTIONS:
        assert SHOWN in page.execute_script(f"return document.getElementById('{section}').textContent"), section
    assert SHOWN in " ".join(texts(page, "header"))
    assert page.find_elements("css selector", "script, img, b, link, iframe, [style], [onerror]") == []


def test_the_keyboard_alone_reaches_all(page: Chrome) -> None:
    keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
    wanted = "a[href], button, summary, [tabindex]"
    targets = page.find_elements("css selector", wanted)
    reached = []
    for _ in targets:
        page.switch_to.active_element.send_keys(keys.TAB)
        reached.append(page.switch_to.active_element.id)
    assert set(reached) == {one.id for one in targets}
    button = page.find_element("css selector", ".t button")
    button.send_keys(keys.ENTER)
    assert "run by 41 tests" in page.find_element("css selector", ".ran:popover-open").text
    button.send_keys(keys.ESCAPE)
    assert page.find_elements("css selector", ".ran:popover-open") == []
    summary = page.find_element("css selector", "summary")
    summary.send_keys(keys.ENTER)
    assert SHOWN in page.find_element("css selector", "details[open] pre").text


@pytest.mark.skipif(not AXE.exists(), reason="npm's axe-core is not here")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_violation(page: Chrome, pages: dict[str, str], theme: str) -> None:
    for width in (390, 1280):
        emulate(page, width=width, theme=theme)
        page.get(pages["whole"])
        page.execute_script(AXE.read_text("utf-8"))
        found: dict[str, Any] = page.execute_async_script("axe.run().then(arguments[0])")
        assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found["violations"]] == []
        assert len(found["passes"]) > 30


def test_no_request_is_made(page: Chrome, pages: dict[str, str]) -> None:
    page.get_log("performance")  # type: ignore[no-untyped-call]
    page.get(pages["whole"])
    events = [json.loads(one["message"])["message"] for one in page.get_log("performance")]  # type: ignore[no-untyped-call]
    sent = [one["params"]["request"]["url"] for one in events if one["method"] == "Network.requestWillBeSent"]
    assert sent == [pages["whole"]]
    policy = page.find_element("css selector", "meta[http-equiv]").get_attribute("content") or ""
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_nothing_is_wider_than_the_window(page: Chrome, width: int) -> None:
    emulate(page, width=width, theme="light")
    assert page.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    colours = set()
    for theme in ("light", "dark"):
        emulate(page, width=width, theme=theme)
        colours.add(page.find_element("css selector", "body").value_of_css_property("background-color"))
    assert len(colours) == 2


def test_a_long_run_is_small_and_quick(browser: Chrome, pages: dict[str, str]) -> None:
    emulate(browser, width=1280, theme="light")
    paints: dict[str, list[float]] = {"whole": [], "long": []}
    for name in (*paints, *paints, *paints):
        browser.get(pages[name])
        paints[name].append(browser.execute_async_script(FIRST_PAINT, "first-contentful-paint"))
    assert min(paints["long"]) < max(1000, 5 * min(paints["whole"]))  # on a busy machine, a short page is slow, too
    assert Path(pages["long"].removeprefix("file://")).stat().st_size < 3_000_000
    assert len(browser.find_elements("css selector", ".x")) == 1500
    assert texts(browser, ".strips .num")[0] == "2,500 failing"


def test_the_findings_of_the_gates_are_a_page(checks: tuple[Check, ...]) -> None:
    text = named("html").checks(checks)
    assert '<h1 id="verdict" class="open">5 findings.</h1>' in text
    assert text.count("<li>") == 5


@pytest.mark.thorough
def test_a_page_of_a_real_run_and_of_its_record(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "order", {"order.py": ORDER, "test_order.py": TESTS})
    done = coderefine("fix", "--no-model", "--format", "html", cwd=top)
    assert done.code == 0, done.err
    shown = coderefine("show", "--html", "page.html", cwd=top)
    assert shown.code == 0, shown.err
    for text in (done.out, (top / "page.html").read_text("utf-8")):
        assert '<h1 id="verdict">Proved: 1 failing test is repaired; all checks pass.</h1>' in text
        assert "test_order.py::test_discount_from_one_hundred_on</code>" in text.split('class="ran"', 1)[1]


def test_markdown_for_the_summary_of_a_step_shows_text_as_text() -> None:
    report = replace(whole_run(), diff=f"--- a\n+++ b\n+```\n+{HOSTILE}\n".encode("utf-8", "replace"))
    page = MarkdownIt("commonmark", {"html": True}).enable("table").render(named("markdown").outcome(report))
    assert "<h3><code>Proved: 4 failing tests are repaired; 1 finding remains.</code></h3>" in page
    assert page.count("<tr>") == 4
    assert "<img" not in page
    assert "</script>" not in page
    assert page.count("&lt;img src=x") == 6


def test_the_template_is_loaded_for_a_page_only(tmp_path: Path) -> None:
    code = "import sys; from coderefine.cli import group; group.coderefine.main(['--version'], standalone_mode=False)"
    code += "; print([name for name in ('jinja2', 'pygments') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "[]"
