"""What a planner answered to `planner.md` and `phase_planner.md` for realistic goals: taken as they are."""

from typing import Any

from bough.core.planning.plan import Step

VI = Step(
    "goal",
    "Build a vi-like editor for the terminal in Python: text buffer, normal mode with motions and operators, insert "
    "mode, ex commands to open and save files, search, undo and redo, and a screen drawn with curses. Everything but "
    "the drawing is tested with pytest.",
    criteria=("pytest passes", "python -m vi FILE opens FILE"),
)
VI_PLAN: list[dict[str, Any]] = [
    {
        "name": "foundation",
        "instructions": "Create the package vi/ with pyproject.toml, vi/__init__.py, vi/__main__.py that prints usage "
        "when no file is given, and tests/test_main.py. Configure pytest in pyproject.toml. No editing yet.",
        "criteria": ["python -m vi exits with 2 and prints usage"],
        "files": ["pyproject.toml", "vi/__init__.py", "vi/__main__.py", "tests/test_main.py"],
        "needs": [],
        "test_command": "pytest tests/test_main.py",
        "complexity": 2,
    },
    {
        "name": "buffer",
        "phase": True,
        "instructions": "Text buffer in vi/buffer.py: class Buffer(lines: list[str]) with insert(row, col, text), "
        "delete(start, end) -> str, line(row), line_count, and positions as (row, col) tuples. Pure, no terminal.",
        "criteria": ["Buffer(['ab']).insert(0, 1, 'x') makes line(0) == 'axb'", "delete returns what it removed"],
        "files": ["vi/buffer.py"],
        "needs": ["foundation"],
        "complexity": 4,
    },
    {
        "name": "motions",
        "phase": True,
        "instructions": "Motions of normal mode in vi/motions.py: functions h, j, k, l, w, b, e, 0, $, gg, G that take "
        "a Buffer and a position and return a new position. A count repeats a motion.",
        "criteria": ["w at the end of the last line stays there", "3l moves three columns"],
        "files": ["vi/motions.py"],
        "needs": ["buffer"],
        "complexity": 4,
    },
    {
        "name": "modes",
        "phase": True,
        "instructions": "vi/editor.py: class Editor with feed(key: str), which has the modes NORMAL, INSERT and "
        "COMMAND. i, a, o enter INSERT, Escape leaves it; operators d, c, y combine with the motions of vi/motions.py.",
        "criteria": ["feeding 'i', 'x', Escape inserts x", "feeding 'd', 'w' deletes a word"],
        "files": ["vi/editor.py"],
        "needs": ["motions"],
        "complexity": 5,
    },
    {
        "name": "history",
        "phase": True,
        "instructions": "Undo and redo: vi/history.py records each change of Buffer with its inverse; u and Ctrl-R in "
        "Editor.feed use it. An insert session is one change.",
        "criteria": ["typing a word and pressing u restores the text", "Ctrl-R does it again"],
        "files": ["vi/history.py", "vi/editor.py"],
        "needs": ["modes"],
        "complexity": 3,
    },
    {
        "name": "ex-commands",
        "instructions": "vi/ex.py: run(editor, line) for :w, :w FILE, :q, :q!, :wq and :e FILE. :q with unsaved "
        "changes answers 'No write since last change'. COMMAND mode of Editor calls it on Enter.",
        "criteria": [":w writes the buffer to its file", ":q refuses while there are unsaved changes"],
        "files": ["vi/ex.py", "vi/editor.py"],
        "needs": ["modes", "history"],
        "test_file": "tests/test_ex.py",
        "complexity": 3,
    },
    {
        "name": "search",
        "instructions": "vi/search.py: find(buffer, pattern, start, forward) with Python regular expressions and wrap "
        "around; /, ?, n and N in Editor use it.",
        "criteria": ["n after /b wraps to the first match"],
        "files": ["vi/search.py", "vi/editor.py"],
        "needs": ["ex-commands"],
        "complexity": 3,
    },
    {
        "name": "screen",
        "instructions": "vi/screen.py: a pure function frame(editor, rows, cols) -> list[str] with the visible lines, "
        "tildes and the status line, and run(editor) that draws it with curses and feeds keys. "
        "vi/__main__.py calls run.",
        "criteria": ["frame has exactly `rows` lines, none longer than `cols`"],
        "files": ["vi/screen.py", "vi/__main__.py"],
        "needs": ["search"],
        "complexity": 3,
    },
]
VI_BUFFER: list[dict[str, Any]] = [
    {
        "name": "insert-text",
        "instructions": "Create vi/buffer.py with class Buffer and insert(row, col, text). Text with newlines splits "
        "the line. A position outside raises IndexError. Tests in tests/test_buffer_insert.py.",
        "criteria": ["inserting 'a\\nb' into an empty buffer gives two lines"],
        "files": ["vi/buffer.py", "tests/test_buffer_insert.py"],
        "test_command": "pytest tests/test_buffer_insert.py",
        "complexity": 2,
    },
    {
        "name": "delete-range",
        "instructions": "Add Buffer.delete(start, end) -> str to vi/buffer.py: removes from start up to end, across "
        "lines, and returns the removed text. Tests in tests/test_buffer_delete.py include a range over three lines.",
        "criteria": ["delete((0, 1), (1, 1)) on ['ab', 'cd'] returns 'b\\nc' and leaves ['ad']"],
        "files": ["vi/buffer.py", "tests/test_buffer_delete.py"],
        "needs": ["insert-text"],
        "complexity": 3,
    },
]
RATES = Step(
    "goal",
    "The shop's prices are in euros only. Show prices in the customer's currency: daily exchange rates from the ECB "
    "feed, stored in the database, with a fallback to the last known rate, a setting per customer, and the currency in "
    "the cart, the invoice PDF and the API.",
    criteria=("a customer with currency USD sees dollars in the cart", "a dead feed does not break checkout"),
)
RATES_PLAN: list[dict[str, Any]] = [
    {
        "name": "money",
        "instructions": "Add shop/money.py with a frozen dataclass Money(amount: Decimal, currency: str) and "
        "convert(money, rate, to). Round half up to the currency's digits. No I/O.",
        "criteria": ["convert(Money(Decimal('10'), 'EUR'), Decimal('1.08'), 'USD') == Money(Decimal('10.80'), 'USD')"],
        "files": ["shop/money.py", "tests/test_money.py"],
        "needs": [],
        "test_command": "pytest tests/test_money.py",
        "complexity": 2,
    },
    {
        "name": "rates-table",
        "instructions": "Add the model Rate(currency, day, rate) in shop/models.py with a migration, and "
        "latest_rate(currency, day) in shop/rates.py which returns the newest rate that is not after the day.",
        "criteria": ["latest_rate gives Friday's rate on a Sunday", "an unknown currency raises UnknownCurrency"],
        "files": ["shop/models.py", "shop/rates.py", "shop/migrations/0012_rate.py", "tests/test_rates.py"],
        "needs": [],
        "complexity": 3,
    },
    {
        "name": "feed",
        "instructions": "Add the management command fetch_rates in shop/management/commands/fetch_rates.py: reads the "
        "ECB's daily XML and stores it as Rate rows. A failing request leaves the table as it is and exits with 1.",
        "criteria": ["the sample XML in tests/data/ecb.xml gives 30 rows", "a timeout leaves the old rows"],
        "files": ["shop/management/commands/fetch_rates.py", "tests/test_fetch_rates.py"],
        "needs": ["rates-table"],
        "complexity": 3,
    },
    {
        "name": "customer-setting",
        "instructions": "Add Customer.currency (default EUR) in accounts/models.py with a migration, and the field in "
        "the profile form. Only currencies that have a Rate can be chosen.",
        "criteria": ["a new customer has EUR", "the form refuses XXX"],
        "files": ["accounts/models.py", "accounts/forms.py", "tests/test_currency_setting.py"],
        "needs": ["rates-table"],
        "complexity": 2,
    },
    {
        "name": "cart",
        "instructions": "Cart.total_for(customer) in shop/cart.py converts with shop.money.convert and latest_rate; "
        "the cart template shows the amount with its currency sign.",
        "criteria": ["a cart of 10 EUR shows $10.80 at a rate of 1.08"],
        "files": ["shop/cart.py", "templates/cart.html", "tests/test_cart_currency.py"],
        "needs": ["money", "feed", "customer-setting"],
        "complexity": 3,
    },
    {
        "name": "invoice-and-api",
        "instructions": "Store currency and rate on Order at checkout in shop/checkout.py, so that later rates do not "
        "change it; show both in the invoice PDF and as `currency` in GET /api/orders/ID.",
        "criteria": ["an order keeps its rate when a newer Rate is stored", "the API's JSON has currency USD"],
        "files": ["shop/checkout.py", "shop/invoice.py", "api/orders.py", "tests/test_order_currency.py"],
        "needs": ["cart"],
        "complexity": 4,
    },
]
