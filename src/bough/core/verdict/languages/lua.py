"""Lua, with busted."""

from shlex import quote

from bough.core.verdict.language import Language
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import Runner


class Busted(Runner):
    name = "busted"
    settings = r"\.busted"
    program = ("busted",)
    suffixes = (".lua",)
    starts = ((r"\.busted|spec/[^/]+_spec\.lua", "", "busted"),)
    closes = (
        r"(?P<passed>\d{1,9}) success(?:es)? / (?P<failed>\d{1,9}) failures? / (?P<failed2>\d{1,9}) errors? / "
        r"(?P<skipped>\d{1,9}) pending : .*"
    )

    def file(self, path: str, look: ProjectFiles, test: str) -> str:
        return f"busted {quote(path)}" if path.endswith("_spec.lua") else f"lua {quote(path)}"


class Lua(Language):
    name = "lua"
    suffixes = ("lua",)
    comment = "--"
    runners = (Busted(),)
    programs = frozenset({"busted", "lua"})
    dependency_files = r"\.rockspec$"
    no_package = r"(LuaCov) not found on the system"
    no_module = r"module '([\w.-]+)' not found"
    setups = ((r"(?:[^/]+/)?[^/]+\.rockspec", "luarocks make {file}"),)
    installs = "luarocks (?:make|install)"
    gets = "luarocks install {}"
    debian = "lua-{}"
    body = r"\bfunction\s+([\w.:]+)\s*\([^()]{0,999}\)|=\s*function\s*\([^()]{0,999}\)"
    switch = ' if 1 == {on} then error("broken on purpose") end '
    interpreters = ("lua",)
