"""Build tools about which bough knows only the command that runs a project's tests."""

import re
from collections.abc import Iterable, Sequence
from types import MappingProxyType

from bough.core.verdict.language import Language
from bough.core.verdict.paths import last_segment
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import (
    KINDS,
    ClosingLine,
    ProjectCommand,
    Runner,
    choose_worst,
    find_last_lines,
    make_closing,
)

_CABAL = "runghc Setup configure --enable-tests && runghc Setup build && runghc Setup test"
_LISP = """sbcl --non-interactive --eval '(require :asdf)' --eval '(asdf:load-asd (truename "{file}"))' \
--eval '(asdf:test-system (pathname-name "{file}"))'"""
_ERT = r"emacs -Q --batch -L . $(find . -name '*-test*.el' -exec echo -l {} \;) -f ert-run-tests-batch-and-exit"


PACKAGES = (
    ("ml", "lib{}-ocaml-dev", "opam install {}"),
    ("R", "r-cran-{}", """Rscript -e 'install.packages("{}")'"""),
    ("asd", "cl-{}", """sbcl --eval '(ql:quickload "{}")'"""),
    ("hs", "libghc-{}-dev", ""),
    ("el", "elpa-{}", ""),
    ("tcl", "tcl-{}", ""),
    ("scm", "guile-{}", ""),
    ("pas", "fp-units-{}", ""),
    ("java", "lib{}-java", ""),
)
"""Debian's names for a language's packages and the command that installs one, by the suffix of the language's files."""


class BuildTool(Runner):
    name = "build_tool"
    starts = (
        (r"MODULE\.bazel|WORKSPACE(?:\.bazel)?", "", "bazel test //..."),
        (r"deno\.jsonc?", "", "deno test -A"),
        (r"bun\.lockb?", "", "bun test"),
        (r"stack\.yaml", "", "stack test"),
        (r"cabal\.project", "", "cabal test all"),
        (r"[^/]+\.cabal", r"(?m)^[Tt]est-[Ss]uite", "cabal test"),
        (r"[^/]+\.cabal", r"(?m)^[Tt]est-[Ss]uite", _CABAL),
        (r"tst/testall\.g", "", "gap {file}"),
        (r"test/runtests\.jl", "", "julia --project -e 'using Pkg; Pkg.test()'"),
        (r"pubspec\.yaml", r"sdk: flutter", "flutter test"),
        (r"pubspec\.yaml", "", "dart test"),
        (r"Package\.swift", r"testTarget", "swift test"),
        (r"shard\.yml", "", "crystal spec"),
        (r"[^/]+\.nimble", "", "nimble test"),
        (r"project\.clj", "", "lein test"),
        (r"build\.sbt", "", "sbt test"),
        (r"dune-project", "", "dune test"),
        (r"rebar\.config", "", "rebar3 do eunit, ct"),
        (r"gleam\.toml", "", "gleam test"),
        (r"dub\.(?:json|sdl)", "", "dub test"),
        (r"fpm\.toml", "", "fpm test"),
        (r"(?:GNUm|m|M)akefile", r"(?m)^REGRESS\s*[:+]?=", "make && make installcheck"),
        (r"tests/[^/]+\.tftest\.hcl", "", "terraform init && terraform test"),
        (r"spago\.(?:dhall|yaml)", "", "spago test"),
        (r"[^/]+\.ipkg", r"(?m)^tests\b", "idris2 --build {file} && idris2 --testpkg {file}"),
        (r"tests/(?!testthat\.)[^/]+\.R", "", "R CMD check --no-manual --ignore-vignettes ."),
        (r"(?:tests?/)?[^/]+-tests?\.el", r"ert-deftest", _ERT),
        (r"[\w-]+\.asd", r"test-op", _LISP),
        (r"tests/testthat\.R", "", "Rscript -e 'testthat::test_local(stop_on_failure = TRUE)'"),
    )

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        yield from super().projects(look)
        tests = [path for path in look.near if path.endswith("_test.go")]
        if tests and not any(last_segment(path) == "go.mod" for path in look):
            yield ProjectCommand("GO111MODULE=off go test ./...", f"there is a {tests[0]}, and no go.mod")

    def closing(self, lines: Sequence[str]) -> ClosingLine | None:
        """Read the last lines of a project's own test program. They get the line number -1, so that the lines of a
        known runner take precedence."""
        found: list[ClosingLine] = []
        block: dict[str, int] = {}
        for _, line in [*find_last_lines(lines), (-1, "")]:
            told = _read_counts(line)
            block = {**told, **block}
            if block and (not told or len(told) > 1):
                found += [make_closing(-1, block)] if len(block.keys() & {"passed", "failed", "total"}) > 1 else []
                block = {}
        return choose_worst(found)


_KIND = "|".join(f"(?P<{kind}{{0}}>{words})" for kind, words in KINDS.items())
_OF = r"(?:\s*(?:/|of|out of)\s*(?P<whole{0}>\d{{1,9}}))"
_COUNTS = (
    # `12 tests passed`, `11/12 ok`
    rf"\b(?P<n>\d{{1,9}}){_OF.format('')}? (?:tests? )?(?:{_KIND.format('')})(?!\w)"
    # `passed: 11`, `Success/Total: 11/12`, and with tabs, as Tcl's tcltest
    rf"|\b(?:{_KIND.format(1)})(?:/total)?(?: tests?)?\s*[:=\t]\s*(?P<n1>\d{{1,9}}){_OF.format(1)}?\b"
)


def _read_counts(line: str) -> dict[str, int]:
    """Read the numbers of tests, by kind, from a line that contains nothing else; otherwise return an empty dict."""
    said = re.sub(r"\([^()]*\)|^\S+\.(?:tcl|test):\t", "", line) if len(line) < 200 else ""
    found: dict[str, int] = {}
    for match in re.finditer(rf"(?i){_COUNTS}", said):
        kind = next(kind for kind in KINDS if match[kind] or match[f"{kind}1"])
        before = found.get(kind, 0) if kind == "failed" else 0  # Add failures and errors up.
        found[kind] = before + int(match["n"] or match["n1"])
        if whole := match["whole"] or match["whole1"]:
            found["total"] = int(whole)
    rest = re.sub(rf"(?i){_COUNTS}", " ", said)
    return found if len(re.findall(r"\w+", rest)) < 2 else {}


_DEBIAN = dict(
    (pair.split("=") * 2)[:2]
    for pair in """make cmake meson bats maven gradle phpunit composer cargo sbcl autoconf automake gcc g++ ruby rake
    bundler elixir check rebar3 go=golang-go mvn=maven ninja=ninja-build autoreconf=autoconf lua=lua5.4 cc=gcc
    busted=lua-busted rspec=ruby-rspec bundle=bundler php=php-cli javac=default-jdk-headless mix=elixir tclsh=tcl
    cabal=cabal-install stack=haskell-stack dune=ocaml-dune Rscript=r-base-core lein=leiningen libtoolize=libtool
    libtool=libtool-bin
    aclocal=automake luarocks shellcheck dub nim nimble=nim gnatgcc=gnat gnatmake=gnat gprbuild emacs=emacs-nox
    cpanm=cpanminus phpize=php-dev R=r-base-core go-md2man octave guile=guile-3.0 swipl=swi-prolog-nox runtest=dejagnu
    dot=graphviz a2x=asciidoc-base qmake=qt5-qmake cobc=gnucobol4 raco=racket csi=chicken-bin csc=chicken-bin
    intltoolize=intltool gtkdocize=gtk-doc-tools pg_config=libpq-dev msgfmt=gettext xgettext=gettext mcs=mono-mcs
    gmcs=mono-mcs xbuild=mono-xbuild runghc=ghc runhaskell=ghc sml=smlnj ocamlfind=ocaml-findlib gsi=gambc
    glib-genmarshal=libglib2.0-dev-bin lazbuild=lcl-utils xsltproc erlc=erlang-dev escript=erlang-base
    makeinfo=texinfo g-ir-scanner=libgirepository1.0-dev pdflatex=texlive-latex-base latex=texlive-latex-base
    yacc=bison lex=flex rst2man=python3-docutils sphinx-build=python3-sphinx convert=imagemagick
    protoc=protobuf-compiler xmllint=libxml2-utils docbook2man=docbook-utils nosetests=python3-nose ocamlopt=ocaml
    glib-compile-resources=libglib2.0-dev-bin glib-compile-schemas=libglib2.0-bin gdbus-codegen=libglib2.0-dev-bin
    desktop-file-validate=desktop-file-utils rsvg-convert=librsvg2-bin wish=tk lrelease=qttools5-dev-tools
    gdc send-email=git-email ldc2=ldc fpc vapigen=valac iverilog gforth prove6=raku
    """.split()  # noqa: SIM905
)
"""Names of Debian packages by a program that each contains."""


class BuildTools(Language):
    """Stands for no language, but for build tools that run tests in many languages."""

    name = "build_tools"
    rank = 60
    runners = (BuildTool(),)
    manifests = ("stack.yaml", "cabal.project", "pubspec.yaml", "Package.swift", "build.sbt", "dune-project")
    build_files = (
        r"CMakeLists\.txt|.*\.cmake|CMakePresets\.json|meson\.build|(?:GNUm|m|M)akefile(?:\.am|\.in)?|.*\.ma?k|BUILD(?:\.bazel)?"
        r"|mix\.exs|rebar\.config|gleam\.toml|(?:build|settings)\.gradle(?:\.kts)?|pom\.xml|build\.sbt|project\.clj|build\.xml"
        r"|.*\.cabal|package\.yaml|stack\.yaml|dune|dune-project|.*\.opam|[Rr]akefile(?:\.rb)?|.*\.gemspec|composer\.json"
        r"|Package\.swift|build\.zig|.*\.nimble|dub\.(?:json|sdl)|shard\.yml|pubspec\.yaml|.*\.[cf]sproj|deno\.jsonc?"
        r"|setup\.py|build\.rs|Makefile\.PL|Build\.PL|SConstruct|SConscript|wscript|xmake\.lua|premake5\.lua|fpm\.toml|alire\.toml"
    )
    programs = frozenset(command.split()[0] for _, _, command in BuildTool.starts)
    provided = MappingProxyType({program: f"apt-get install {name}" for program, name in _DEBIAN.items()})
