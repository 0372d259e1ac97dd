"""Accountants by name; one line makes a new one count in every total, and in the contract tests."""

from tailguard.checks import class_called
from tailguard.privacy.accounting.base import Accountant

# Cheap ones first: of equal answers the first is reported.
ACCOUNTANTS = {
    "gdp": "tailguard.privacy.accounting.gdp:GdpAccountant",
    "zcdp": "tailguard.privacy.accounting.zcdp:ZcdpAccountant",
    "pure": "tailguard.privacy.accounting.pure:PureAccountant",
    "selection": "tailguard.privacy.accounting.selection:SelectionAccountant",
    "renyi": "tailguard.privacy.accounting.renyi:RenyiAccountant",
    "pld": "tailguard.privacy.accounting.pld:PldAccountant",
}


def make_accountant(name: str) -> Accountant:
    """Return the empty accountant called ``name``."""
    accountant: Accountant = class_called(name, ACCOUNTANTS)()
    return accountant
