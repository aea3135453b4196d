"""The rules by which bough's own, unconfined process deals with what others prepared, each in one place: the only way
to a file (`files`), to start a program (`programs`) and to a remote (`remotes`), and what a repository may set
(`wishes`). `docs/design/threat-model.md` says what they stop; `tests/test_architecture.py` finds code that goes around.
"""
