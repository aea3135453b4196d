"""Pytest hooks, and what in them can change which tests run or what a run says."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bough.core.tamper.python.marks import hardness
from bough.core.tamper.python.syntax import Function, constant, dotted, last, show, walk
from bough.core.tamper.wording import listed

DECISIVE = listed(
    """
    pytest_runtest_makereport pytest_runtest_protocol pytest_runtest_call pytest_pyfunc_call pytest_cmdline_main
    pytest_ignore_collect pytest_collect_file pytest_pycollect_makeitem pytest_pycollect_makemodule
    pytest_runtestloop pytest_report_teststatus pytest_load_initial_conftests pytest_cmdline_preparse
    pytest_cmdline_parse pytest_runtest_logreport pytest_exception_interact pytest_itemcollected pytest_collection
    pytest_make_collect_report pytest_collect_directory pytest_collectreport pytest_fixture_setup
    """
)
"""Hooks with no honest use that leaves the verdict alone, or too few to tell apart."""

RESULT_FIELDS = listed(
    """
    exitstatus testsfailed testscollected outcome wasxfail longrepr shouldfail shouldstop when excinfo _excinfo
    testspassed failed passed _result returncode obj _obj runtest own_markers items cached_result stats hook
    """
)
_RESULT_CALLS = listed(
    """
    pytest_deselected set_blocked unregister force_result force_exception import_plugin _exit consider_module
    consider_pluginarg skip xfail importorskip exit quit abort
    """
)
_TAKING = listed("clear remove pop __delitem__ __setitem__")
_ADDING = listed("append extend insert update")
_HARMLESS_LINES = ("markers", "filterwarnings")


def is_hook(function: Function) -> bool:
    return function.name.startswith("pytest_")


def bends(function: Function) -> Iterator[tuple[int, str]]:
    """Lines of a hook that change which tests run or what their results are."""
    items = next((a.arg for a in function.args.args if a.arg in ("items", "collected")), "items")
    for node in walk(function):
        if isinstance(node, ast.stmt | ast.Call) and _bending(node, items):
            yield node.lineno, show(node, 60)


def _bending(node: ast.stmt | ast.Call, items: str) -> bool:
    if isinstance(node, ast.Assign | ast.Delete):
        return any(_bending_target(target, items) for target in node.targets)
    if isinstance(node, ast.AugAssign):
        return _bending_target(node.target, items)
    if isinstance(node, ast.Raise):
        return last(node.exc) in ("SystemExit", "Exit", "KeyboardInterrupt", "Skipped")
    return isinstance(node, ast.Call) and _bending_call(node, items)


def _bending_target(target: ast.expr, items: str) -> bool:
    if isinstance(target, ast.Attribute):
        whole = dotted(target)
        return (
            target.attr in RESULT_FIELDS
            or target.attr.startswith("pytest_")
            or ".option." in whole
            or whole.endswith((".args", ".known_args_namespace"))
        )
    if isinstance(target, ast.Subscript):
        whole = dotted(target)
        return whole == items or "inicache" in whole or whole.endswith("__dict__") or "sys.modules" in whole
    return False


def _bending_call(call: ast.Call, items: str) -> bool:
    called, whole = last(call.func), dotted(call.func)
    if called == "add_marker":
        return bool(call.args) and hardness(call.args[0]) is not None
    if called == "addinivalue_line":
        return bool(call.args) and constant(call.args[0]) not in _HARMLESS_LINES
    if called == "register" and "pluginmanager" in whole:
        return True
    if called in _TAKING and whole.startswith(f"{items}."):
        return True
    if called in _TAKING | _ADDING and last(getattr(call.func, "value", None)) in RESULT_FIELDS:
        return True
    if called in ("setattr", "__setattr__", "delattr"):
        return True
    return called in _RESULT_CALLS
