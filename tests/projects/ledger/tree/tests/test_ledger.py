import pytest

from ledger.accounts import Ledger, LedgerError


@pytest.fixture
def ledger():
    ledger = Ledger()
    ledger.open("ann", 1000)
    ledger.open("bob", 0, overdraft=500)
    return ledger


def test_a_transfer_moves_money(ledger):
    ledger.transfer("ann", "bob", 300, fee=5)
    assert (ledger.accounts["ann"].balance, ledger.accounts["bob"].balance) == (695, 300)


def test_an_overdraft_may_be_used(ledger):
    ledger.transfer("bob", "ann", 500)
    assert ledger.accounts["bob"].balance == -500


def test_nobody_pays_more_than_there_is(ledger):
    with pytest.raises(LedgerError, match="cannot pay"):
        ledger.transfer("ann", "bob", 1001)


def test_a_failed_transfer_changes_nothing(ledger):
    with pytest.raises(LedgerError, match="no account of zoe"):
        ledger.transfer("ann", "zoe", 100)
    assert ledger.accounts["ann"].balance == 1000


def test_the_fee_counts_towards_the_limit(ledger):
    with pytest.raises(LedgerError):
        ledger.transfer("ann", "bob", 998, fee=5)
    assert ledger.accounts["ann"].balance == 1000


def test_deposits_are_positive(ledger):
    with pytest.raises(LedgerError, match="positive"):
        ledger.accounts["ann"].deposit(0)
