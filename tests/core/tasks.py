"""Tasks as tests need them."""

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bough.core.tree.task import Task


def change(task: Task, **fields: Any) -> Task:
    """The task with other values, each named as its group names it: `change(task, claim="done", rung=None)`."""
    for name, value in fields.items():
        if name in Task.__struct_fields__:
            task = replace(task, **{name: value})
            continue
        groups = [each for each in Task.__struct_fields__ if name in _list_fields(getattr(task, each))]
        (group,) = groups
        task = replace(task, **{group: replace(getattr(task, group), **{name: value})})
    return task


def _list_fields(group: object) -> tuple[str, ...]:
    is_group = isinstance(group, Struct) and type(group).__module__ == "bough.core.tree.task_groups"
    return type(group).__struct_fields__ if is_group and isinstance(group, Struct) else ()
