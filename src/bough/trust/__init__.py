"""The rules by which bough's own process, which no sandbox confines, handles files and settings that others wrote. Each
is in one place: the only way to open a file (`files`), start a program (`programs`) and use a remote (`remotes`), and
what a repository may set (`wishes`). `docs/design/threat-model.md` says which attacks they stop;
`tests/test_architecture.py` finds code that bypasses them."""
