"""Parents, children that only say them again, and children that are honestly a part of them."""

from bough.core.planning.plan import Step

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
    "Implement the configuration parser: read TOML files, merge them with environment "
    "variables and command line flags, "
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
    "Write the text buffer of the editor. It keeps lines in a gap buffer, can insert and "
    "delete characters and whole lines, "
    "and has undo and redo.",
    title="Buffer management",
    criteria=("insert and delete work at any position", "undo restores the text before the last change"),
    files=("editor/buffer.py", "tests/test_buffer.py"),
)
CACHE = Step(
    "cache",
    "The cache in `http/cache.py` never expires entries. Make it honour Cache-Control max-age "
    "and drop entries that are too "
    "old, and bound its size to 1,000 entries with least-recently-used eviction.",
    files=("http/cache.py",),
)
RENAME = Step("rename", "Rename the class Manager to Registry everywhere in the project.")
DOCS = Step("docs", "Document the plugin interface with a guide and two worked examples.")

LIMITS = Step(
    "limits",
    "Add rate limiting to the public API: 100 requests per minute per key, 429 with "
    "Retry-After when exceeded, counters in "
    "Redis.",
    criteria=("the 101st request in a minute gets 429", "Retry-After is set"),
)
XDIST = Step("xdist", "Make the test suite run in parallel with pytest-xdist.")
CMAKE = Step(
    "cmake",
    "Port the Makefile build to CMake, keep the targets all, test, install and dist, and make CI use it.",
)
AVATAR = Step(
    "avatar",
    "Users can upload an avatar image; it is resized to 256x256 and shown in the profile page.",
)
SEARCH = Step("search", "Speed up search: queries over 100,000 notes must answer in under 50 ms.")
TESTS = Step("tests", "Write tests for the parser.")
V1 = Step("v1", "Remove the deprecated v1 endpoints and everything only they use.")
INSERT = Step("insert", "Implement insert mode", title="Insert mode")


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
            "Implement the parser for the configuration: reading TOML files, merging them with "
            "environment variables and "
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
            "Make the cache in http/cache.py honour Cache-Control max-age, drop old entries, and bound "
            "its size to 1,000 "
            "entries with LRU eviction.",
        ),
    ),
    (RENAME, _said("Rename Manager to Registry in all files of the project.")),
    (RENAME, _said("Rename the Manager class to Registry.")),
    (DOCS, _said("Write documentation for the plugin interface: a guide and two worked examples.")),
    (DOCS, _said("Complete the task.")),
    (AUTH, _said("Do everything that is required and make sure it works.")),
    (CACHE, _said("Finish the remaining work.")),
    (
        LIMITS,
        _said(
            "Implement rate limiting for the public API with 100 requests per minute per key, "
            "answering 429 with Retry-After."
        ),
    ),
    (LIMITS, _said("Add rate limiting to the API.")),
    (LIMITS, _said("Limit the rate of the public API to 100 requests a minute per key using Redis counters.")),
    (XDIST, _said("Run the test suite in parallel using pytest-xdist.")),
    (XDIST, _said("Enable parallel tests with pytest-xdist and make sure that the whole suite passes.")),
    (CMAKE, _said("Port the build from Makefile to CMake with all targets and switch CI over.")),
    (CMAKE, _said("Replace the Makefile build by CMake.")),
    (AVATAR, _said("Let users upload avatar images, resize them to 256x256 and show them in the profile page.")),
    (AVATAR, _said("Implement avatar image upload with resizing and showing it in the profile.")),
    (SEARCH, _said("Make search faster so that queries over 100,000 notes answer in less than 50 ms.")),
    (SEARCH, _said("Speed up the search queries.")),
    (TESTS, _said("Write the tests for the parser.")),
    (TESTS, _said("Add parser tests.")),
    (TESTS, _said("Test the parser properly.")),
    (V1, _said("Delete the deprecated v1 endpoints and all that only they use.")),
    (V1, _said("Remove deprecated v1 endpoints.")),
    (INSERT, _said("Implement the insert mode.")),
    (INSERT, _said("Implement insert mode and test it.")),
    (
        JSON_FLAG,
        _said(
            "Add a --json flag to the report command. Look at cli.py, add the argument with "
            "argparse, serialise the rows with json.dumps, and write a test that parses the output."
        ),
    ),
    (
        ROUNDING,
        _said(
            "Fix the rounding error in totals() so that invoices add up. Use Decimal, quantize at "
            "the end, and compare with the examples that accounting sent; add regression tests for "
            "each."
        ),
    ),
    (
        MIGRATE,
        _said(
            "Migrate the storage layer from SQLite to PostgreSQL. Use psycopg, rewrite the queries, "
            "add a docker-compose file for tests, and copy the old rows over."
        ),
    ),
    (
        RENAME,
        _said(
            "Rename Manager to Registry throughout the project. Use sed for imports, then run mypy "
            "and fix leftovers in docs and changelog."
        ),
    ),
    (
        BUFFER,
        _said(
            "Implement the editor's text buffer. Use two lists around the gap, an operations stack "
            "for history, and property tests against a plain string."
        ),
    ),
    (
        DOCS,
        _said(
            "Document the plugin interface. Start with docs/plugins.md, then show hello and counter "
            "under examples/, and link both from the README."
        ),
    ),
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
    (LIMITS, _said("Write a class Window with hit(key, now) that counts requests per key and minute, in memory.")),
    (LIMITS, _said("Write RedisCounter with incr(key, ttl) on top of the redis client, tested against fakeredis.")),
    (LIMITS, _said("Add middleware that answers 429 and sets Retry-After from the counter's remaining seconds.")),
    (LIMITS, _said("Read the limit from settings.RATE_LIMIT, default 100.")),
    (XDIST, _said("Find the tests that share the port 8080 or a temporary folder and give each its own fixture.")),
    (XDIST, _said("Add pytest-xdist to the dev dependencies and `-n auto` to addopts in pyproject.toml.")),
    (XDIST, _said("Mark the tests that cannot run beside others with xdist_group.")),
    (CMAKE, _said("Write CMakeLists.txt with the library and the executable so that `cmake --build` makes both.")),
    (CMAKE, _said("Add the test target with CTest.")),
    (CMAKE, _said("Add install and dist targets.")),
    (CMAKE, _said("Make the CI workflow call cmake and ctest instead of make.")),
    (AVATAR, _said("Add POST /me/avatar that takes a multipart image up to 2 MB and stores it.")),
    (AVATAR, _said("Write resize(image) that crops to a square and scales to 256x256 with Pillow.")),
    (AVATAR, _said("Show the avatar in profile.html, with a placeholder when there is none.")),
    (SEARCH, _said("Write bench/search.py that makes 100,000 notes and measures the median query time.")),
    (SEARCH, _said("Add a full-text index on notes.body in a migration.")),
    (SEARCH, _said("Use the FTS index in search() and keep the order of results.")),
    (TESTS, _said("Write tests for the tokenizer: numbers, strings with escapes, comments.")),
    (TESTS, _said("Write tests for syntax errors: each names line and column.")),
    (TESTS, _said("Write tests for operator precedence in expressions.")),
    (V1, _said("Remove the v1 routes from urls.py and their tests.")),
    (V1, _said("Remove the serializers that only v1 used; find them with vulture.")),
    (INSERT, _said("Add class Mode with NORMAL and INSERT and a dispatch table for keys.")),
    (INSERT, _said("Make i, a and o enter insert mode at the right column.")),
    (INSERT, _said("In insert mode, Escape returns to normal mode and moves the cursor left.")),
    (INSERT, _said("Backspace in insert mode deletes the character before the cursor.")),
    (
        JSON_FLAG,
        _said(
            "Split print_report() in src/tool/report.py in two: rows() returns the list of dicts, "
            "print_rows() prints them as today. No new behaviour. The tests of the report stay as "
            "they are."
        ),
    ),
    (
        JSON_FLAG,
        _said(
            "Add `--json` (store_true) to the `report` parser in src/tool/cli.py and print "
            "json.dumps(rows(), indent=2) when it is given. Add tests/test_report_json.py that runs "
            "the command on the sample data and parses its output."
        ),
    ),
    (
        ROUNDING,
        _said(
            "Add tests/test_totals.py with the three invoices from the bug report. Mark the failing "
            "ones xfail for now. Do not touch billing/totals.py."
        ),
    ),
    (
        MIGRATE,
        _said(
            "Introduce class Storage(Protocol) in store/base.py with get, put, delete and scan. Let "
            "SqliteStorage in store/sqlite.py implement it. All callers take a Storage."
        ),
    ),
    (
        MIGRATE,
        _said(
            "Write PostgresStorage in store/postgres.py with the same four methods on psycopg 3. Run "
            "the existing storage tests against it when TEST_POSTGRES_URL is set."
        ),
    ),
    (
        BUFFER,
        _said(
            "Create editor/gap.py with class GapBuffer(text: str) and methods insert(pos, s), "
            "delete(pos, n), text(). Property-test it against plain strings with hypothesis."
        ),
    ),
    (
        BUFFER,
        _said(
            "Add class Buffer in editor/buffer.py that holds a list of GapBuffer lines. Methods: "
            "insert_line(i, text), delete_line(i), line(i), len(). Out of range raises IndexError."
        ),
    ),
    (
        PARSER,
        _said(
            "Write load_file(path) in src/app/config.py. It reads TOML with tomllib and returns a "
            "dict; a missing file gives {}. A syntax error raises ConfigError with path and line."
        ),
    ),
    (
        PARSER,
        _said(
            "Write merge(file, env, flags) in src/app/config.py. Later ones win; environment names "
            "are APP_SECTION_KEY. Values keep the type of the default."
        ),
    ),
    (
        AUTH,
        _said(
            "Set up the FastAPI application in api/main.py with a health endpoint GET /health. Add "
            "the test client fixture in tests/conftest.py."
        ),
    ),
    (
        AUTH,
        _said(
            "Write api/auth.py: hash_password, verify_password, make_token(user_id), "
            "read_token(token). Tokens are JWT with HS256 and expire after an hour."
        ),
    ),
    (
        CACHE,
        _said(
            "Add a clock parameter to Cache.__init__ so that tests can move time. Default is "
            "time.monotonic. Nothing else changes."
        ),
    ),
    (
        LIMITS,
        _said(
            "Write limiter/window.py with class FixedWindow(limit, seconds, counter) and allow(key, "
            "now) -> tuple[bool, int]. The second value is the seconds until the window ends."
        ),
    ),
    (
        SEARCH,
        _said(
            "Replace the LIKE query in search() by a match on the FTS table. Results stay ordered by "
            "date. Add a benchmark test with 100,000 generated notes that fails above 50 ms."
        ),
    ),
    (
        DOCS,
        _said(
            "Write docs/plugins.md with the hooks on_load, on_event and on_unload, each with its "
            "signature and when it is called. Link it from docs/index.md."
        ),
    ),
    (
        TEXTKIT,
        _said(
            "Write textkit/table.py: format_table(rows, headers) -> str with columns padded to the "
            "widest cell. Numbers are right-aligned. Tests in tests/test_table.py cover empty rows "
            "and unicode."
        ),
    ),
)
