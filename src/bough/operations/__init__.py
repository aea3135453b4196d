"""The operations that a person can perform. Each is one function with a typed signature, a docstring and a typed
result.

The command line, the dashboard, the tools for other agents and the Python package are all made from this table. What
one of them adds (colours, a live view, a question before it acts) stays there. Every module in this folder is imported,
so a new operation needs no other registration."""

from importlib import import_module
from pkgutil import iter_modules

from bough.operations.table import OPERATIONS as OPERATIONS

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
