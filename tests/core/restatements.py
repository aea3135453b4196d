"""Parents, children that only say them again, and children that are honestly a part of them."""

from __future__ import annotations

from bough.core.plan import Step

TEXTKIT = Step(
    "textkit",
    "Create a Python package textkit with five modules (slug, wrap, count, dedent, table), each with tests; "
    "all must pass pytest and ruff.",
    criteria=("pytest passes", "ruff check . reports nothing", "each of the five modules has a test file"),
)
JSON_FLAG = Step("json-flag", "Add a --json flag to the report command.", files=("src/tool/cli.py",))
ROUNDING = Step("rounding", "Fix the rounding error in totals() so that invoices add up.", files=("billing/totals.py",))
PARSER = Step(
    "parser",
    "Implement the configuration parser: read TOML files, merge them with environment variables and command line flags, "
    "and report unknown keys with a suggestion.",
    criteria=(
        "a TOML file is read",
        "environment variables win over the file",
        "an unknown key is an error that names it",
    ),
    files=("src/app/config.py", "tests/test_config.py"),
)
AUTH = Step(
    "auth",
    "Build a REST API for user management with authentication, CRUD operations and tests.",
    criteria=("POST /login returns a token", "GET /users lists the users", "DELETE /users/1 needs a token"),
)
MIGRATE = Step("migrate", "Migrate the storage layer from SQLite to PostgreSQL without losing data.")
BUFFER = Step(
    "buffer",
    "Write the text buffer of the editor. It keeps lines in a gap buffer, can insert and delete characters and whole lines, "
    "and has undo and redo.",
    title="Buffer management",
    criteria=("insert and delete work at any position", "undo restores the text before the last change"),
    files=("editor/buffer.py", "tests/test_buffer.py"),
)
CACHE = Step(
    "cache",
    "The cache in `http/cache.py` never expires entries. Make it honour Cache-Control max-age and drop entries that are too "
    "old, and bound its size to 1,000 entries with least-recently-used eviction.",
    files=("http/cache.py",),
)
RENAME = Step("rename", "Rename the class Manager to Registry everywhere in the project.")
DOCS = Step("docs", "Document the plugin interface with a guide and two worked examples.")


def _said(instructions: str, *, criteria: tuple[str, ...] = (), files: tuple[str, ...] = ()) -> Step:
    return Step("child", instructions, criteria=criteria, files=files)


RESTATEMENTS: tuple[tuple[Step, Step], ...] = (
    (TEXTKIT, TEXTKIT),
    (TEXTKIT, _said("Create the Python package textkit with five modules: slug, wrap, count, dedent and table.")),
    (TEXTKIT, _said("Build the textkit package with its five modules and their tests, passing pytest and ruff.")),
    (TEXTKIT, _said("Implement all the modules of textkit (slug, wrap, count, dedent, table) and test each of them.")),
    (
        TEXTKIT,
        _said("Make sure that the whole textkit package with all five modules is created and every test passes."),
    ),
    (TEXTKIT, _said("Create the textkit package.")),
    (JSON_FLAG, _said("Add the --json flag to the report command")),
    (JSON_FLAG, _said("Implement a `--json` flag for the `report` command.", files=("src/tool/cli.py",))),
    (JSON_FLAG, _said("Support a --json flag in the report command and make sure that everything works properly.")),
    (
        JSON_FLAG,
        _said("Please carefully add the requested --json flag to the report command, and verify it with tests."),
    ),
    (ROUNDING, _said("Fix the rounding error in totals().")),
    (ROUNDING, _said("Correct the rounding errors in totals() so that the invoices will add up correctly.")),
    (ROUNDING, _said("Repair rounding in totals() to make invoices add up.", files=("billing/totals.py",))),
    (PARSER, _said("Write the configuration parser that reads TOML files and merges environment variables and flags.")),
    (
        PARSER,
        _said(
            "Implement the parser for the configuration: reading TOML files, merging them with environment variables and "
            "with command line flags, reporting unknown keys with suggestions.",
            files=PARSER.files,
        ),
    ),
    (PARSER, _said("Implement the configuration parser.", criteria=PARSER.criteria, files=PARSER.files)),
    (AUTH, _said("Implement the REST API for managing users, including authentication, CRUD operations and tests.")),
    (AUTH, _said("Build the user management API with authentication and all CRUD operations.")),
    (MIGRATE, _said("Move the storage layer from SQLite to PostgreSQL.")),
    (MIGRATE, _said("Perform the migration of the storage layer to PostgreSQL from SQLite, losing no data.")),
    (BUFFER, _said("Write the editor's text buffer with insert, delete, undo and redo of characters and lines.")),
    (BUFFER, _said("Implement buffer management.")),
    (BUFFER, _said("Create the text buffer of the editor.", files=BUFFER.files)),
    (
        CACHE,
        _said(
            "Make the cache in http/cache.py honour Cache-Control max-age, drop old entries, and bound its size to 1,000 "
            "entries with LRU eviction.",
        ),
    ),
    (RENAME, _said("Rename Manager to Registry in all files of the project.")),
    (RENAME, _said("Rename the Manager class to Registry.")),
    (DOCS, _said("Write documentation for the plugin interface: a guide and two worked examples.")),
    (DOCS, _said("Complete the task.")),
    (AUTH, _said("Do everything that is required and make sure it works.")),
    (CACHE, _said("Finish the remaining work.")),
)

HONEST: tuple[tuple[Step, Step], ...] = (
    (
        TEXTKIT,
        _said("Create textkit/__init__.py and a pyproject.toml with pytest and ruff configured; no modules yet."),
    ),
    (TEXTKIT, _said("Write textkit/slug.py with slugify(text) and tests/test_slug.py.", files=("textkit/slug.py",))),
    (TEXTKIT, _said("Write the wrap module and its tests.")),
    (TEXTKIT, _said("Write the count and dedent modules, each with a test file.")),
    (TEXTKIT, _said("Write the table module with its tests.", files=("textkit/table.py", "tests/test_table.py"))),
    (TEXTKIT, _said("Run ruff over the package and fix what it reports.")),
    (JSON_FLAG, _said("In src/tool/report.py split the building of the report's rows from their printing.")),
    (JSON_FLAG, _said("Add a function to_json(rows) to src/tool/report.py with a test for empty and unicode rows.")),
    (JSON_FLAG, _said("Add the option to the argument parser in cli.py and pass it to print_report() as `as_json`.")),
    (JSON_FLAG, _said("Describe the new flag in README.md under Reports, with one example of its output.")),
    (ROUNDING, _said("Write a failing test in tests/test_totals.py: three items at 0.335 must total 1.01.")),
    (ROUNDING, _said("Use Decimal with ROUND_HALF_UP in totals() instead of float, and convert once at the end.")),
    (PARSER, _said("Read one TOML file into a dict with tomllib; a syntax error names the file and the line.")),
    (PARSER, _said("Merge environment variables with the prefix APP_ over the values of the file.")),
    (
        PARSER,
        _said("Refuse unknown keys and suggest the nearest known one with difflib.", files=("src/app/config.py",)),
    ),
    (PARSER, _said("Let command line flags override what the file and the environment say.")),
    (AUTH, _said("Define the User model and an in-memory repository for it.")),
    (AUTH, _said("Add POST /login which checks the password hash and returns a signed JWT.")),
    (AUTH, _said("Add middleware that refuses requests to /users without a valid token.")),
    (AUTH, _said("Add the endpoints to list, create, update and delete users.")),
    (MIGRATE, _said("Put the queries of store.py behind a Storage protocol, with SQLite as its only implementation.")),
    (MIGRATE, _said("Write the PostgreSQL implementation of Storage with psycopg, tested by the same suite.")),
    (
        MIGRATE,
        _said("Write scripts/copy_data.py that copies every table from SQLite to PostgreSQL and compares counts."),
    ),
    (BUFFER, _said("Write class GapBuffer with insert(pos, char) and delete(pos) for one line.")),
    (BUFFER, _said("Add insert_line and delete_line to the buffer.", files=("editor/buffer.py",))),
    (BUFFER, _said("Record every change of the buffer as an operation with its inverse, and add undo().")),
    (BUFFER, _said("Add redo() that replays undone operations until a new change clears them.")),
    (CACHE, _said("Parse max-age from the Cache-Control header in a function max_age(headers), with tests.")),
    (CACHE, _said("Keep the time of storing with each entry and treat entries past their max-age as absent in get().")),
    (CACHE, _said("Bound the cache to 1,000 entries with an OrderedDict, dropping the least recently used.")),
    (RENAME, _said("Rename the class in core/registry.py and keep Manager as an alias with a DeprecationWarning.")),
    (RENAME, _said("Replace the uses of Manager in plugins/ and tests/, then remove the alias.")),
    (DOCS, _said("Write docs/plugins.md: what a plugin is, the three hooks, and how it is found.")),
    (DOCS, _said("Add examples/hello_plugin with a test that loads it.")),
)
