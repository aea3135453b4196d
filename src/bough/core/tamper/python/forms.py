"""Ways to write the same expression, made one: f-strings, `.format(…)` and `%`; `dict(a=1)` and `{"a": 1}`."""

from __future__ import annotations

import ast
import re

from bough.core.tamper.python.syntax import name

_FIELD = r"\{\{|\}\}|\{(\w*)([!:][^{}]*)?\}"
_PERCENT = "%%|%([srd])"


def one_form(node: ast.expr) -> ast.expr:
    """`format(template, values…)` for an expression that formats a string, a literal for a call that makes one; any
    other as it is."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("dict", "list", "tuple", "set")
    ):
        return _literal(node, node.func.id)
    if isinstance(node, ast.ListComp | ast.SetComp):
        return _copied(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
        return _attribute(node)
    if isinstance(node, ast.JoinedStr):
        return _of_fstring(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return _of_method(node, node.func.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return _of_percent(node)
    return node


def _literal(node: ast.Call, kind: str) -> ast.expr:
    if kind == "set":
        return _set_of(node)
    if node.args or any(item.arg is None for item in node.keywords):
        return node
    if kind == "dict":
        keys: list[ast.expr | None] = [ast.Constant(value=item.arg) for item in node.keywords]
        return ast.Dict(keys=keys, values=[item.value for item in node.keywords])
    return ast.List(elts=[], ctx=ast.Load()) if kind == "list" else ast.Tuple(elts=[], ctx=ast.Load())


def _set_of(node: ast.Call) -> ast.expr:
    """`set([1, 2])` is `{1, 2}`."""
    given = node.args[0] if len(node.args) == 1 and not node.keywords else None
    if (
        isinstance(given, ast.List | ast.Tuple)
        and given.elts
        and not any(isinstance(e, ast.Starred) for e in given.elts)
    ):
        return ast.Set(elts=given.elts)
    return node


def _copied(node: ast.ListComp | ast.SetComp) -> ast.expr:
    """`[x for x in y]` is `list(y)`."""
    loop = node.generators[0]
    same = isinstance(node.elt, ast.Name) and isinstance(loop.target, ast.Name) and node.elt.id == loop.target.id
    if not same or len(node.generators) > 1 or loop.ifs or loop.is_async:
        return node
    return ast.Call(func=name("list" if isinstance(node, ast.ListComp) else "set"), args=[loop.iter], keywords=[])


def _attribute(node: ast.Call) -> ast.expr:
    """`getattr(x, "y")` is `x.y`."""
    wanted = node.args[1] if len(node.args) == 2 and not node.keywords else None
    if isinstance(wanted, ast.Constant) and isinstance(wanted.value, str) and wanted.value.isidentifier():
        return ast.Attribute(value=node.args[0], attr=wanted.value, ctx=ast.Load())
    return node


def _made(template: str, values: list[ast.expr]) -> ast.expr:
    return ast.Call(func=name("format"), args=[ast.Constant(value=template), *values], keywords=[])


def _of_fstring(node: ast.JoinedStr) -> ast.expr:
    template, values = "", list[ast.expr]()
    for part in node.values:
        if isinstance(part, ast.Constant):
            template += str(part.value)
        elif isinstance(part, ast.FormattedValue):
            values.append(part.value)
            conversion = f"!{chr(part.conversion)}" if part.conversion > 0 else ""
            asked = part.format_spec.values if isinstance(part.format_spec, ast.JoinedStr) else []
            if not all(isinstance(one, ast.Constant) for one in asked):
                return node
            spec = "".join(str(one.value) for one in asked if isinstance(one, ast.Constant))
            template += "{" + conversion + (f":{spec}" if spec else "") + "}"
    return _made(template, values) if values else ast.Constant(value=template)


def _of_method(node: ast.Call, text: ast.expr) -> ast.expr:
    if not (isinstance(text, ast.Constant) and isinstance(text.value, str)):
        return node
    given: dict[str, ast.expr] = {str(index): value for index, value in enumerate(node.args)}
    given |= {item.arg: item.value for item in node.keywords if item.arg is not None}
    fields = [found for found in re.finditer(_FIELD, text.value) if found[0] not in ("{{", "}}")]
    asked = [found[1] or str(index) for index, found in enumerate(fields)]
    starred = any(isinstance(one, ast.Starred) for one in node.args) or any(item.arg is None for item in node.keywords)
    if starred or not fields or any(one not in given for one in asked):
        return node
    template = re.sub(_FIELD, lambda f: f[0][0] if f[0] in ("{{", "}}") else "{" + (f[2] or "") + "}", text.value)
    return _made(template, [given[one] for one in asked])


def _of_percent(node: ast.BinOp) -> ast.expr:
    text = node.left.value if isinstance(node.left, ast.Constant) else None
    values = list(node.right.elts) if isinstance(node.right, ast.Tuple) else [node.right]
    if not isinstance(text, str) or isinstance(node.right, ast.Dict):
        return node
    fields = [found for found in re.finditer(_PERCENT, text) if found[1]]
    if not fields or len(fields) != len(values) or "%" in re.sub(_PERCENT, "", text):
        return node
    template = re.sub(_PERCENT, lambda f: "%" if not f[1] else "{!r}" if f[1] == "r" else "{}", text)
    return _made(template, values)
