"""What a person can do, each said once: a function with a typed signature, a docstring and a typed result.

The command line, the dashboard, the tools for other agents and the Python package are drawn from this table. What a
face adds (colours, a live view, a question before it acts) stays there. Every file here is read: a new operation needs
nothing else.
"""

from importlib import import_module
from pkgutil import iter_modules

from bough.operations.table import OPERATIONS as OPERATIONS

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
