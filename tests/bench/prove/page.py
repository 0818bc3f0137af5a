"""What the page of a run weighs, how soon it is painted, and what axe-core says of it, in headless Chromium.

    TEST_NODE_MODULES=FOLDER python -m tests.bench.prove.page

Two pages: one with something in every section, and one of 5,000 tests with a diff of 3,000 lines. FOLDER has npm's
axe-core.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from selenium import webdriver

from coderefine.reports.formats import named
from tests.reports.test_html import AXE, CHROMIUM, DRIVER, FIRST_PAINT, FLAGS, emulate, long_run, whole_run

EVERY = "every section"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM or ""
        for flag in (*FLAGS.split(), f"--user-data-dir={folder}/chromium"):
            options.add_argument(flag)
        browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
        try:
            for name, report in ((EVERY, whole_run()), ("5,000 tests, 3,000 lines", long_run())):
                file = Path(folder, "page.html")
                file.write_text(named("html").outcome(report), "utf-8")
                print(f"{name}: {file.stat().st_size / 1e6:.2f} MB (goal 3)")
                for theme in ("light", "dark"):
                    for width in (390, 1280, 1920):
                        emulate(browser, width=width, theme=theme)
                        browser.get(file.as_uri())
                        paint = browser.execute_async_script(FIRST_PAINT, "first-contentful-paint")
                        print(f"  {theme:<6}{width:>5} px: first paint {paint:.0f} ms (goal 1000)", flush=True)
                        if name == EVERY:
                            browser.execute_script(AXE.read_text("utf-8"))
                            found = browser.execute_async_script("axe.run().then(arguments[0])")
                            print(f"    axe-core: {len(found['violations'])} violations, {len(found['passes'])} passes")
        finally:
            browser.quit()


if __name__ == "__main__":
    main()
