"""Python tests, compared by syntax tree.

- `syntax`, `forms`: trees, small questions about them, and one form for what can be written in several.
- `sources`: the files of one side, and what their names are bound to. `scope`: what a name stands for at one place.
- `checks`: one assertion. `strength`: whether one asks as much as another. `hollow`: whether one asks anything.
- `body`: all that a test's body asserts, does, skips and replaces; with `facts` and `contexts` about statements.
- `marks`, `cases`: what skips a test, and the cases of `parametrize`. `suite`: the tests of a file.
- `beside`: what tests rely on. `doctests`: examples that the check runs.
- `compare`: both sides, assertion by assertion. `touched`: which tests can differ at all. `judge`: what became of one.
"""
