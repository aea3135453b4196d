"""What a statement puts in the place of something in a module of the project, however it gets hold of it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from bough.core.tamper.python.facts import patched
from bough.core.tamper.python.sources import Source
from bough.core.tamper.python.syntax import constant, dotted, last
from bough.core.tamper.tricks.ground import Ground
from bough.core.tamper.tricks.signs import Sign, expressions_of, shown


def replacing(node: ast.stmt, source: Source, ground: Ground) -> Iterator[Sign]:
    """What the tests call, replaced for all of them."""
    for target in replaced(node, source):
        root, _, rest = target.partition(".")
        imported = source.imports.get(root)
        if not rest and (imported is None or not imported.attribute):
            continue
        top = (imported.module if imported is not None else root).split(".")[0]
        relative = imported is not None and imported.level > 0
        if top in sys.stdlib_module_names or not (relative or ground.own(top)):
            continue
        wanted = target.rpartition(".")[2]
        if ground.calls(wanted) or (wanted == "Ellipsis" and ground.imports(top)):
            yield shown(node, f"replaces {target}, which the tests call", f"patch {target}")


def replaced(node: ast.stmt, source: Source) -> Iterator[str]:
    """What a statement sets in a module, in whichever way, as `module.name`; or the function whose inside it sets."""
    for target in getattr(node, "targets", []):
        if isinstance(target, ast.Attribute) and target.attr.startswith("__"):
            yield _object(target.value, source)
        elif isinstance(target, ast.Attribute):
            yield f"{_object(target.value, source)}.{target.attr}"
        elif isinstance(target, ast.Subscript) and _namespace(target.value):
            yield f"{_object(target.value, source)}.{constant(target.slice)}"
    around = [one for one in getattr(node, "decorator_list", []) if last(one) in ("patch", "object")]
    for call in (part for part in expressions_of(node) if isinstance(part, ast.Call)):
        if call not in around:  # `@patch(…)` replaces for what it stands above alone
            yield patched(call)
        if last(call.func) in ("setattr", "__setattr__") and len(call.args) > 1:
            yield f"{_object(call.args[0], source)}.{constant(call.args[1])}"
        elif dotted(call.func).endswith("patch.multiple") and call.args:
            first = constant(call.args[0])
            module = first if isinstance(first, str) else _object(call.args[0], source)
            yield from (f"{module}.{word.arg}" for word in call.keywords)
        elif isinstance(call.func, ast.Attribute) and _namespace(call.func.value):
            named = [constant(key) for argument in call.args[:1] for key in keys(argument)]
            for name in [*named, *(word.arg for word in call.keywords)]:
                yield f"{_object(call.func.value, source)}.{name}"


def _namespace(node: ast.expr) -> bool:
    """`vars(module)`, `module.__dict__`, `function.__globals__`."""
    return last(node) in ("vars", "__dict__", "__globals__")


def _object(node: ast.expr, source: Source) -> str:
    """The dotted name of what an expression stands for; of a module, however it was got hold of."""
    if isinstance(node, ast.Attribute) and node.attr != "__dict__":
        return f"{_object(node.value, source)}.{node.attr}"
    if isinstance(node, ast.Attribute):
        return _object(node.value, source)
    if isinstance(node, ast.Subscript) and loaded(node.value, source):
        return str(constant(node.slice))
    if isinstance(node, ast.Call) and last(node) in ("import_module", "__import__", "vars", "reload") and node.args:
        text = constant(node.args[0])
        return text if isinstance(text, str) else _object(node.args[0], source)
    if isinstance(node, ast.Name) and node.id not in source.imports:
        made = [n.value for n in source.of(ast.Assign) if node.id in map(last, n.targets)]
        if made and isinstance(made[-1], ast.Call | ast.Subscript):
            return _object(made[-1], source)
    return dotted(node)


def loaded(node: ast.expr, source: Source) -> bool:
    """`sys.modules`, under whatever name."""
    whole = dotted(node)
    imported = source.imports.get(whole)
    made = source.values.get(whole)
    return (
        whole.endswith("sys.modules")
        or (imported is not None and (imported.module, imported.attribute) == ("sys", "modules"))
        or (isinstance(made, ast.Attribute) and dotted(made) == "sys.modules")
    )


def keys(node: ast.expr) -> list[ast.expr]:
    return [key for key in node.keys if key is not None] if isinstance(node, ast.Dict) else [node]
