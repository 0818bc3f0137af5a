"""Workers behind a network that delays packets, loses some, or is cut."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import end, start
from tests.support.dask import SHOP, Dask, open_cluster, wait
from tests.support.repo import make_repo
from tests.support.slow_network import SlowNetwork, is_possible, slow_network

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(not is_possible(), reason="needs root, ip and /dev/net/tun")]


@pytest.fixture
def network() -> Iterator[SlowNetwork]:
    with slow_network(delay=0.05, loss=0.02) as made:
        yield made


@pytest.fixture
def dask(network: SlowNetwork, tmp_path: Path) -> Iterator[Dask]:
    with open_cluster(tmp_path / "dask", host=network.here, inside=network.inside) as made:
        yield made


def test_a_network_that_delays_and_loses_packets_costs_time(network: SlowNetwork, dask: Dask, tmp_path: Path) -> None:
    top = make_repo(tmp_path / "shop", SHOP)
    for shards in ("1 shard", "2 shards"):
        said = dask.check(top)
        assert said.code == 0, said
        assert f"12 tests ran on the cluster ({shards})" in said.out + said.err
    assert network.carried > 100_000


def test_workers_behind_a_network_that_is_cut_are_left_out(network: SlowNetwork, dask: Dask, tmp_path: Path) -> None:
    top = make_repo(tmp_path / "shop", SHOP)
    process = start("check", "--gate", "pytest", "--cluster", dask.address, cwd=top, env=dask.env)
    wait(lambda: dask.trees("one") | dask.trees("two"))
    network.loss = 1.0
    said = end(process)
    assert said.code == 0, said
    assert "all tests ran here: " in said.out + said.err
