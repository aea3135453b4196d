"""What a person can do, each said once: a function with a typed signature, a docstring and a typed result.

The command line, the dashboard, the tools for other agents and the Python package are drawn from this table. What a
face adds (colours, a live view, a question before it acts) stays there.
"""

from bough.operations import lists as lists
from bough.operations import runs as runs
from bough.operations.table import OPERATIONS as OPERATIONS
