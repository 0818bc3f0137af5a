"""Make README's two pictures from a real run of `coderefine demo`: `python .github/pictures.py`.

Needs chromium, chromedriver and selenium.
"""

from __future__ import annotations

import base64
import os
import pty
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text
from selenium import webdriver

HERE = Path(__file__).parent
COLUMNS = 110
FLAGS = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --hide-scrollbars"


def main() -> None:
    """Run the demo in a terminal, and write `demo.svg` and `page.png`."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "shop")
        draw_terminal(run_in_terminal("coderefine", "demo", str(place), "--no-model").replace(folder, "/tmp"))
        subprocess.run(["coderefine", "show", "--html", f"{folder}/page.html"], cwd=place, check=True)
        draw_page(Path(folder, "page.html"), folder)


def run_in_terminal(*argv: str) -> str:
    """Return what a program prints to a terminal, without its progress line."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    with subprocess.Popen(argv, stdout=theirs, stderr=subprocess.DEVNULL, env=env) as process:
        os.close(theirs)
        parts = []
        try:
            while part := os.read(ours, 65536):
                parts.append(part)
        except OSError:  # Linux reports the end of a terminal as an error
            pass
    if process.returncode:
        sys.exit(f"{argv[0]} ended with {process.returncode}")
    return b"".join(parts).decode().replace("\r\n", "\n")


def draw_terminal(text: str) -> None:
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True)
        console.print(Text.from_ansi(f"$ coderefine demo\n{text.rstrip()}"))
    (HERE / "demo.svg").write_text(console.export_svg(title="coderefine demo"), "utf-8")


def draw_page(page: Path, folder: str) -> None:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for flag in (*FLAGS.split(), f"--user-data-dir={folder}/chromium"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        size = {"width": 1280, "height": 1380, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get(page.as_uri())
        picture = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "optimizeForSpeed": False})
        (HERE / "page.png").write_bytes(base64.b64decode(picture["data"]))
    finally:
        browser.quit()


if __name__ == "__main__":
    main()
