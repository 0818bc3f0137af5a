"""Accounts in cents, and transfers between them."""

from dataclasses import dataclass, field


class LedgerError(Exception):
    """A booking that cannot be."""


@dataclass
class Account:
    owner: str
    balance: int = 0
    overdraft: int = 0

    def deposit(self, amount):
        if amount <= 0:
            raise LedgerError("amount must be positive")
        self.balance += amount

    def withdraw(self, amount, fee=0):
        """Takes `amount` and `fee`; raises LedgerError when that is more than there is."""
        if amount > self.balance + self.overdraft:
            raise LedgerError(f"{self.owner} cannot pay {amount}")
        self.balance -= amount + fee


@dataclass
class Ledger:
    accounts: dict[str, Account] = field(default_factory=dict)

    def open(self, owner, balance=0, overdraft=0):
        self.accounts[owner] = Account(owner, balance, overdraft)
        return self.accounts[owner]

    def transfer(self, owner, to, amount, fee=0):
        """All or nothing."""
        source = self._find(owner)
        source.withdraw(amount, fee)
        target = self._find(to)
        target.deposit(amount)

    def _find(self, owner):
        account = self.accounts.get(owner)
        if account == None:
            raise LedgerError(f"no account of {owner}")
        return account
