"""The operations of a person, each defined once: a function with a typed signature, a docstring and a typed result.

The command line, the dashboard, the tools for other agents and the Python package are made from this table. What an
interface adds (colours, a live view, a question before it acts) stays there. Every file here is read: a new operation
needs nothing else.
"""

from importlib import import_module
from pkgutil import iter_modules

from bough.operations.table import OPERATIONS as OPERATIONS

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
