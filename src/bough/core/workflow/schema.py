"""The JSON schema of workflow files, for editors."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.core.workflow.keys import WorkflowKeys


def build_schema() -> dict[str, Any]:
    """Build it from the loader's own definitions. The loader checks more: names, order, conditions, placeholders."""
    _, tables = msgspec.json.schema_components([WorkflowKeys], ref_template="#/$defs/{name}")
    for table in tables.values():
        table["additionalProperties"] = False
    tables["ActionKeys"]["oneOf"] = [{"required": [way]} for way in ("run", "check", "workflow")]
    whole = tables.pop("WorkflowKeys")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **whole,
        "title": "A bough workflow",
        "$defs": tables,
    }
