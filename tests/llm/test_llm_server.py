"""The scripted server as a process of its own, as the benchmarks start it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from coderefine.config import Config
from coderefine.llm.client import Client
from coderefine.llm.model_request import Message, ModelRequest
from tests.support.clients import QUICK

TOP = Path(__file__).parents[2]
ASKED = ModelRequest("edit", (Message("user", "Repair this."),))


def test_started_as_a_process(tmp_path: Path) -> None:
    script, log = tmp_path / "script.json", tmp_path / "log.jsonl"
    script.write_text(json.dumps([{"status": 500, "raw": "{}"}, {"text": "fine", "usage": [7, 2]}]))
    argv = (sys.executable, "-m", "tests.support.llm_server", str(script), "--log", str(log))
    with subprocess.Popen(argv, cwd=TOP, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            with Client(replace(Config(model="m"), base_url=url), environ={}, backoff=QUICK) as client:
                answer = client.ask(ASKED)
        finally:
            process.terminate()
    assert (answer.text, answer.prompt_tokens, answer.completion_tokens) == ("fine", 7, 2)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["number"], line["chars"]) for line in lines] == [(1, ASKED.chars), (2, ASKED.chars)]
