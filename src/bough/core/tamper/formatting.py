"""The three ways to put values into a string, made one: f-strings, `.format(…)` and `%`."""

from __future__ import annotations

import ast
import re

from bough.core.tamper.syntax import name

_FIELD = re.compile(r"\{\{|\}\}|\{(\d*)([!:][^{}]*)?\}")
_PERCENT = re.compile(r"%%|%([srd])")


def one_form(node: ast.expr) -> ast.expr:
    """`format(template, values…)` for an expression that formats a string; any other as it is."""
    if isinstance(node, ast.JoinedStr):
        return _of_fstring(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return _of_method(node, node.func.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return _of_percent(node)
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
    if not (isinstance(text, ast.Constant) and isinstance(text.value, str)) or node.keywords:
        return node
    fields = [found for found in _FIELD.finditer(text.value) if found[0] not in ("{{", "}}")]
    numbers = [int(found[1]) if found[1] else index for index, found in enumerate(fields)]
    starred = any(isinstance(one, ast.Starred) for one in node.args)
    if starred or not fields or any(number >= len(node.args) for number in numbers):
        return node
    template = _FIELD.sub(lambda f: f[0][0] if f[0] in ("{{", "}}") else "{" + (f[2] or "") + "}", text.value)
    return _made(template, [node.args[number] for number in numbers])


def _of_percent(node: ast.BinOp) -> ast.expr:
    text = node.left.value if isinstance(node.left, ast.Constant) else None
    values = list(node.right.elts) if isinstance(node.right, ast.Tuple) else [node.right]
    if not isinstance(text, str) or isinstance(node.right, ast.Dict):
        return node
    fields = [found for found in _PERCENT.finditer(text) if found[1]]
    if not fields or len(fields) != len(values) or "%" in _PERCENT.sub("", text):
        return node
    template = _PERCENT.sub(lambda f: "%" if not f[1] else "{!r}" if f[1] == "r" else "{}", text)
    return _made(template, values)
