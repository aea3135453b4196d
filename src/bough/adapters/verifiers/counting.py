"""Progress of a test run while it runs, told from each line as it comes."""

from bough.adapters.verifiers.runners import Progress, counting

__all__ = ["Progress", "counting"]
