"""Elixir, with mix."""

from bough.core.verdict.language import Language
from bough.core.verdict.runner import Runner


class Mix(Runner):
    name = "mix"
    suffixes = (".exs",)
    starts = ((r"mix\.exs", "", "mix test"),)
    one_file = "mix test {file}"


class Elixir(Language):
    name = "elixir"
    suffixes = ("ex", "exs")
    case_path = "cases/{name}.exs"
    case_command = "mix run {file}"
    case_end = 'IO.puts("{mark}")'
    case_how = "An Elixir script for `mix run` that calls the product and raises where something is not as asked."
    runners = (Mix(),)
    manifests = ("mix.exs",)
    programs = frozenset({"mix"})
    no_package = r"the dependency is not available, run \"mix deps|Could not find Hex|Unchecked dependencies"
    setups = (("mix.exs", "mix deps.get"),)
    installs = r"mix deps\.get"
    body = r"^[ \t]*defp? ([\w?!]+)[^\n]* do[ \t]*$"
    switch = '\nif 1 == {on}, do: raise("broken on purpose")\n'
