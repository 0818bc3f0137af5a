"""`--cluster`: a real scheduler and real workers, as processes, each with a cache of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from coderefine.cluster.environments import Environment
from coderefine.cluster.shards import SuiteRecord, divide, merged
from coderefine.cluster.trees import TreeStore
from coderefine.core import Check
from coderefine.git import Repository
from coderefine.journal import Journal
from coderefine.journal.journal import run_names
from tests.support.command import FAULT, ORDER, RIGHT, ROOT, TESTS, block, coderefine, end, start
from tests.support.dask import SHOP, TEST, Dask, open_cluster, wait
from tests.support.llm_server import LlmServer
from tests.support.repo import make_repo, write

SETTINGS = {"pyproject.toml": SHOP["pyproject.toml"]}
QUICK = {name: text.replace("0.36", "0") for name, text in SHOP.items()}
"""Where it does not matter whether the tests are worth two shards."""
LONG_THERE = """\
import os
import time


def test_long():
    time.sleep(60 if "ON_WORKER" in os.environ else 0)
"""


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Dask]:
    """A cluster for a test that harms it."""
    with open_cluster(tmp_path / "dask") as made:
        yield made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dask]:
    with open_cluster(tmp_path_factory.mktemp("shared") / "dask") as made:
        yield made


@pytest.mark.thorough
def test_workers_have_the_verdicts_of_this_machine(shared: Dask, tmp_path: Path) -> None:
    dask, before = shared, {name: len(shared.trees(name)) for name in ("one", "two")}
    top = make_repo(tmp_path / "shop", SHOP)
    first = dask.check(top)
    assert first.code == 0, first.err
    assert "12 tests ran on the cluster (1 shard)" in first.out + first.err
    assert SuiteRecord.load(dask.record(top)).independent is True
    assert {name: len(dask.trees(name)) - 1 for name in before} == before

    write(top, {"shop.py": SHOP["shop.py"] + "# changed\n"})
    second = dask.check(top)
    assert second.code == 0
    assert "12 tests ran on the cluster (2 shards)" in second.out + second.err
    assert len(dask.trees("one")) == before["one"] + 2

    write(
        top, {"shop.py": "def total(prices):\n    return sum(prices) or 1 / 0\n", "tests/test_d.py": "import nothing\n"}
    )
    here = json.loads(coderefine("check", "--gate", "pytest", "--format", "json", cwd=top).out)["checks"][0]
    there = json.loads(dask.check(top, "--format", "json").out)["checks"][0]
    assert there["findings"]
    assert there["findings"] == here["findings"]
    assert {one["id"]: one["status"] for one in there["tests"]} == {one["id"]: one["status"] for one in here["tests"]}


@pytest.mark.thorough
def test_tests_that_depend_on_each_other_are_never_divided(shared: Dask, tmp_path: Path) -> None:
    sets = TEST + "\n\ndef test_sets():\n    import shop\n    shop.seen = True\n"
    needs = TEST + "\n\ndef test_needs():\n    import shop\n    assert shop.seen\n"
    short = TEST.replace("0.36", "0.01")  # the two long files are never in one shard
    long = {"tests/test_a.py": sets.replace("0.36", "0.52"), "tests/test_c.py": needs.replace("0.36", "0.52")}
    files = {**long, "tests/test_b.py": short}
    top = make_repo(tmp_path / "shop", {**SHOP, **files})
    for _ in range(2):
        said = shared.check(top)
        assert said.code == 0, said.err
        assert "14 tests ran on the cluster (1 shard)" in said.out + said.err
    assert SuiteRecord.load(shared.record(top)).independent is False


@pytest.mark.thorough
def test_tests_that_begin_to_depend_on_each_other_are_divided_no_more(shared: Dask, tmp_path: Path) -> None:
    one = "import shop\n\n\ndef test_one():\n    "
    first, second = f"{one}shop.ready = True\n", f"{one}shop.broken = not hasattr(shop, 'ready')\n"
    third = f"{one}assert not getattr(shop, 'broken', False)\n"
    files = {"tests/test_a.py": first, "tests/test_b.py": second, "tests/test_c.py": third}
    top = make_repo(tmp_path / "shop", {**SHOP, **files})
    assert shared.check(top).code == 0
    long = {"tests/test_a.py": 4.0, "tests/test_b.py": 2.0, "tests/test_c.py": 2.0}
    replace(SuiteRecord.load(shared.record(top)), seconds=long, independent=True).save(shared.record(top))
    said = shared.check(top)
    assert said.code == 0, said.err
    assert "3 tests ran on the cluster (1 shard)" in said.out + said.err
    assert SuiteRecord.load(shared.record(top)).independent is False


@pytest.mark.thorough
def test_changed_tests_that_fail_only_when_divided_do_not_fail(shared: Dask, tmp_path: Path) -> None:
    one = "import shop\n\n\ndef test_one():\n    "
    top = make_repo(tmp_path / "shop", {**SHOP, "tests/test_a.py": f"{one}pass\n", "tests/test_b.py": f"{one}pass\n"})
    assert shared.check(top).code == 0
    long = {"tests/test_a.py": 4.0, "tests/test_b.py": 2.0, "tests/test_c.py": 2.0}
    replace(SuiteRecord.load(shared.record(top)), seconds=long, independent=True).save(shared.record(top))
    write(top, {"tests/test_a.py": f"{one}shop.ready = True\n", "tests/test_b.py": f"{one}assert shop.ready\n"})
    said = shared.check(top)
    assert said.code == 0, said.out
    assert "(1 shard)" in said.out + said.err


@pytest.mark.thorough
def test_tests_that_code_makes_depend_on_each_other_do_not_fail(shared: Dask, tmp_path: Path) -> None:
    """Alone, the second file fails here, too."""
    first, second = (f"import shop\n\n\ndef test_it():\n    assert shop.{name}()\n" for name in ("begin", "end"))
    free = "def begin():\n    return True\n\n\ndef end():\n    return True\n"
    bound = "begun = []\n\n\ndef begin():\n    begun.append(1)\n    return True\n\n\ndef end():\n    return begun\n"
    files = {"shop.py": free, "tests/test_a.py": first, "tests/test_b.py": second}
    top = make_repo(tmp_path / "shop", {"pyproject.toml": SHOP["pyproject.toml"], **files})
    assert shared.check(top).code == 0
    long = {"tests/test_a.py": 2.0, "tests/test_b.py": 2.0}
    replace(SuiteRecord.load(shared.record(top)), seconds=long, independent=True).save(shared.record(top))
    write(top, {"shop.py": bound})
    said = shared.check(top)
    assert said.code == 0, said
    assert "2 tests ran on the cluster (1 shard)" in said.out + said.err
    assert SuiteRecord.load(shared.record(top)).independent is False


@pytest.mark.thorough
def test_a_test_that_kills_three_workers_is_named(tmp_path: Path) -> None:
    """Tests cannot kill a worker themselves, for the sandbox; what they use up can."""
    top = make_repo(tmp_path / "shop", {**QUICK, "tests/test_z.py": LONG_THERE})
    with open_cluster(tmp_path / "dask", ("one", "two", "three"), settings={"ON_WORKER": "1"}) as dask:
        argv = ("check", "--gate", "pytest", "--format", "json", "--cluster", dask.address)
        process = start(*argv, cwd=top, env={"XDG_CACHE_HOME": dask.env["XDG_CACHE_HOME"]})
        while len(dask.processes) > 1:
            wait(lambda: ran_for(dask, 5.0))
            dask.stop(ran_for(dask, 5.0))
        said = end(process)
    assert said.code == 0, said
    (remark,) = json.loads(said.out)["checks"][0]["findings"]
    assert (remark["symbol"], remark["severity"]) == ("tests/test_z.py::test_long", "soft")
    assert "3 workers died or failed with the same tests" in remark["message"]


def ran_for(dask: Dask, seconds: float) -> str:
    """Return a worker that has had a process of tests for so long; "" if there is none."""
    return next((name for name in dask.processes if runs_tests(dask, name, seconds)), "")


def runs_tests(dask: Dask, worker: str, seconds: float = 0.0) -> bool:
    """Return whether `worker` has had a process of tests for so long."""
    for child in psutil.Process(dask.processes[worker].pid).children(recursive=True):
        with suppress(psutil.Error):
            if "cold_process" in child.cmdline() and time.time() - child.create_time() > seconds:
                return True
    return False


@pytest.mark.thorough
def test_a_worker_that_dies_costs_time(dask: Dask, tmp_path: Path) -> None:
    top = make_repo(tmp_path / "shop", SHOP)
    process = start("check", "--gate", "pytest", "--cluster", dask.address, cwd=top, env=dask.env)
    trees = {name: dask.folder / name / "coderefine" / "cluster" / "trees" for name in ("one", "two")}
    wait(lambda: any(folder.is_dir() and any(folder.iterdir()) for folder in trees.values()))
    dask.stop("one" if trees["one"].is_dir() else "two")
    said = end(process)
    assert said.code == 0, said.err
    assert "12 tests ran on the cluster (1 shard)" in said.out + said.err


@pytest.mark.thorough
def test_a_repair_is_proved_here_unless_the_workers_may(shared: Dask, tmp_path: Path) -> None:
    quick = "from shop import total\n\n\ndef test_total():\n    assert total([2, 3]) == 5\n    assert total([]) == 0\n"
    files = {"shop.py": "def total(prices):\n    return sum(prices) - 1\n", "tests/test_a.py": quick}
    top = make_repo(tmp_path / "shop", {"pyproject.toml": SHOP["pyproject.toml"], **files})
    here, there = shared.fix(top), shared.fix(top, "--proof", "cluster")
    assert "+    return sum(prices)\n" in here.out
    assert here.out == there.out
    assert "1 test ran on the cluster" not in here.err
    assert "1 test ran on the cluster" in there.err


@pytest.mark.thorough
def test_samples_of_a_model_run_on_the_workers_at_once_and_those_that_pass_here(shared: Dask, tmp_path: Path) -> None:
    slow = f"import time\n\n{TESTS}\n\ndef test_small():\n    time.sleep(5.5)\n    assert discount(10) == 0\n"
    breaks = "Always.\n\n" + block("order.py", FAULT, "    return total * 0.1")
    top = make_repo(tmp_path / "order", {"order.py": ORDER, "tests/test_order.py": slow, **SETTINGS})
    with LlmServer([breaks, RIGHT]) as server:
        flags = ("--no-search", "--model", "m", "--base-url", server.url, "--samples", "2", "--format", "json")
        argv = ("fix", "--gate", "pytest", "--cluster", shared.address, *flags)
        process = start(*argv, cwd=top, env=shared.env)
        wait(lambda: process.poll() is not None or all(runs_tests(shared, name) for name in ("one", "two")))
        together = process.poll() is None
        said = end(process)
    assert said.code == 0, said.err
    assert together, "the second sample waited for the first one"
    repository = Repository.open(top)
    attempts = Journal.load(repository, run_names(repository)[-1]).attempts()
    checks = [check for one in attempts for check in one.checks if check.critic == "pytest"]
    assert ["ran on the cluster" in " ".join(check.notes) for check in checks] == [True, True, False]


@pytest.mark.thorough
def test_a_worker_that_hangs_is_left_out(dask: Dask, tmp_path: Path) -> None:
    top = make_repo(tmp_path / "shop", SHOP)
    dask.stop("one", signal.SIGSTOP)
    process = start("check", "--gate", "pytest", "--cluster", dask.address, cwd=top, env=dask.env)
    wait(lambda: dask.trees("two") or process.poll() is not None)
    dask.stop("two", signal.SIGSTOP)
    said = end(process)
    assert said.code == 0, said.err
    assert "cannot answer" in said.out + said.err
    # The reason depends on whether the second worker was stopped before it answered that it has the tree.
    assert "all tests ran here: " in said.out + said.err


@pytest.mark.thorough
def test_a_cluster_is_found_by_tls_by_its_file_and_started_here(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "shop", {**SHOP, "tests/test_a.py": "def test_one():\n    pass\n"})
    names = {"key": tmp_path / "key.pem", "cert": tmp_path / "cert.pem"}
    made = ("-newkey", "rsa:2048", "-nodes", "-keyout", names["key"], "-out", names["cert"], "-subj", "/CN=127.0.0.1")
    subprocess.run(("openssl", "req", "-x509", *made), check=True, capture_output=True)
    tls = "DASK_DISTRIBUTED__COMM__TLS__"
    own = {
        f"{tls}{who}__{name.upper()}": str(file)
        for who in ("SCHEDULER", "WORKER", "CLIENT")
        for name, file in names.items()
    }
    files = {f"{tls}CA_FILE": str(names["cert"]), **own}
    (top / "tests/test_b.py").unlink()
    (top / "tests/test_c.py").unlink()
    with open_cluster(tmp_path / "dask", ("one",), "tls", files) as dask:
        said = dask.check(top)
        assert said.code == 0, said.err
        assert "1 test ran on the cluster" in said.out + said.err
        dask.settings = {}
        assert dask.check(top).code == 2
        dask.settings, dask.address = files, str(dask.folder / "scheduler.json")
        said = dask.check(top)
        assert "1 test ran on the cluster" in said.out + said.err, said.err
    said = coderefine("check", "--gate", "pytest", "--cluster", "local:1", cwd=top)
    assert "1 test ran on the cluster" in said.out + said.err, said.err


@pytest.mark.thorough
def test_a_fix_that_lost_the_scheduler_is_resumed(dask: Dask, tmp_path: Path) -> None:
    slow = (
        "import time\n\nfrom shop import total\n\n\ndef test_total():\n    time.sleep(3)\n    assert total([5]) == 5\n"
    )
    files = {"shop.py": "def total(prices):\n    return sum(prices) - 1\n", "tests/test_a.py": slow}
    top = make_repo(tmp_path / "shop", {"pyproject.toml": SHOP["pyproject.toml"], **files})
    argv = ("fix", "--no-model", "--gate", "pytest", "--cluster", dask.address)
    process = start(*argv, cwd=top, env=dask.env)
    wait(lambda: any((dask.folder / name / "coderefine/cluster/trees").is_dir() for name in ("one", "two")))
    dask.stop("scheduler")
    said = end(process)
    assert said.code == 2
    assert "the scheduler is lost: nothing was written" in said.err
    for name in ("one", "two"):
        dask.stop(name)
    dask.scheduler()
    dask.worker("three")
    said = coderefine("resume", cwd=top, env=dask.env)
    assert said.code == 0, said.err
    assert (top / "shop.py").read_text() == "def total(prices):\n    return sum(prices)\n"


@pytest.mark.thorough
def test_another_environment_is_refused(dask: Dask, tmp_path: Path) -> None:
    top = make_repo(tmp_path / "shop", QUICK)
    other = tmp_path / "other"
    subprocess.run((sys.executable, "-m", "venv", "--without-pip", str(other)), check=True)
    said = dask.check(top, "--cluster-python", str(other / "bin" / "python"))
    assert said.code == 2
    assert re.search(
        r"worker tcp://\S+ differs: (\S+ missing instead of \S+, ){2}\S+ missing .* and \d+ more", said.err
    )
    table = coderefine("doctor", "--no-model", "--cluster", dask.address, cwd=top)
    assert len(re.findall(r"^ok   worker +tcp://", table.out, re.MULTILINE)) == 2

    for name, note in (("one", "12 tests ran on the cluster"), ("two", "all tests ran here: the tree cannot be sent")):
        shutil.rmtree(dask.folder / name / "coderefine", ignore_errors=True)
        write(dask.folder, {f"{name}/coderefine": "where a worker would store the tree"})
        said = dask.check(top)
        assert said.code == 0, said.err
        assert note in said.out + said.err


def test_a_difference_names_each_package() -> None:
    home = Environment("cpython 3.11.7", "linux", {"a": "1", "b": "2", "c": "3"})
    other = Environment("cpython 3.12.0", "linux", {"a": "1", "b": "4", "d": "5"})
    assert home.differences(home) == []
    assert home.differences(other) == [
        "Python cpython 3.12.0 instead of cpython 3.11.7",
        "b 4 instead of 2",
        "c missing instead of 3",
        "d 5 instead of none",
    ]


def test_a_suite_is_divided_only_where_each_shard_is_worth_its_start() -> None:
    assert divide({"a.py": 0.1, "b.py": 0.2}, 2) == []
    assert divide({"a.py": 3.0, "b.py": 1.0, "c.py": 2.0}, 2) == [("a.py",), ("b.py", "c.py")]


def test_an_impossible_cluster_address_is_refused(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "shop", SHOP)
    said = coderefine("check", "--cluster", "nowhere", cwd=top)
    assert said.code == 2
    assert "is not a tcp:// or tls:// address" in said.err


def test_a_relative_cache_folder_is_ignored() -> None:
    found, env = "from coderefine.cluster.trees import cache; print(cache())", {**os.environ, "XDG_CACHE_HOME": "cache"}
    said = subprocess.run((sys.executable, "-c", found), cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == str(Path.home() / ".cache" / "coderefine" / "cluster")


def test_a_merged_check_has_the_records_of_all_shards() -> None:
    lines = ({"": {"a.py": frozenset({1})}, "x": {"a.py": frozenset({2})}}, {"": {"a.py": frozenset({3})}})
    shards = [Check("pytest", coverage=one, followed=number > 0) for number, one in enumerate(lines)]
    whole = merged(shards)
    assert whole.coverage == {"": {"a.py": frozenset({1, 3})}, "x": {"a.py": frozenset({2})}}
    assert whole.followed


def test_dask_is_imported_for_a_cluster_only() -> None:
    loaded = "import sys, coderefine.cli.check, coderefine.cli.fix, coderefine.critics.pytest as p; print(*sys.modules)"
    said = subprocess.run((sys.executable, "-c", loaded), cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"distributed", "dask", "coderefine.cluster.client"} & set(said.stdout.split())


def test_only_missing_objects_of_a_tree_are_sent_and_it_arrives_unchanged(tmp_path: Path) -> None:
    top = tmp_path / "tree"
    files: dict[str, str | bytes] = {f"{number % 20}/{number}.py": f"x = {number}\n" * 20 for number in range(200)}
    odd: dict[str, str | bytes] = {
        ".gitattributes": "* text eol=crlf\n",
        ".gitignore": "*.so\n",
        "a.so": b"\0\r\n\n",
        "é.txt": b"a\r\nb\n",
    }
    write(top, files | odd)
    (top / "link").symlink_to("a.so")
    (top / "0" / "0.py").chmod(0o755)
    here, there = TreeStore(tmp_path / "here"), TreeStore(tmp_path / "there")
    first = here.add(top, "tree")
    pack = here.pack(first, there.known())
    there.receive(first, pack)
    arrived = there.checkout(first)
    assert {path.relative_to(arrived) for path in arrived.rglob("*")} == {
        path.relative_to(top) for path in top.rglob("*")
    }
    assert all((arrived / name).read_bytes() == (top / name).read_bytes() for name in (*files, *odd))
    assert (arrived / "link").is_symlink()
    assert (arrived / "0" / "0.py").stat().st_mode & 0o111

    for harm in ({"1/1.py": "damaged\n"}, {"more.py": ""}):
        write(arrived, harm)
        arrived = there.checkout(first)
        assert (arrived / "1" / "1.py").read_text() == files["1/1.py"]
        assert not (arrived / "more.py").exists()
    written = (arrived / "1" / "1.py").stat().st_ino
    assert (there.checkout(first) / "1" / "1.py").stat().st_ino == written

    write(top, {"1/1.py": "changed\n"})
    (top / "a.so").unlink()
    second = here.add(top, "tree")
    small = here.pack(second, there.known())
    assert len(small) < len(pack) / 5
    there.receive(second, small)
    assert (there.checkout(second) / "1" / "1.py").read_text() == "changed\n"
    assert not (there.checkout(second) / "a.so").exists()

    full = TreeStore(tmp_path / "there", most=1)
    write(top, {"2/2.py": ""})
    third = here.add(top, "tree")
    full.receive(third, here.pack(third, full.known()))
    assert full.checkout(third).is_dir()
    assert not (tmp_path / "there" / "trees" / first).exists()
