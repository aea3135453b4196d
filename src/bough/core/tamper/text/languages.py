"""How tests, skips and assertions are written in the languages that are compared as text: as patterns, for `rx`."""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct


class Language(Struct, frozen=True):
    test: str
    """Finds a test; the group `title` is its name."""
    assertion: str
    skip: str
    loose: str = ""
    """What skips outside of single tests, where that is less than `skip`."""
    only: str = ""
    """Marks that keep all other tests from running."""
    trick: str = ""
    block: str = "braces"
    """Where a test ends: `braces`, `call` (the call's bracket), `indent`, or `next`: up to the next test."""
    comment: str = "//"
    above: str = ""
    """Lines right above a test that belong to it."""
    swallow: str = ""
    """A pattern of what keeps a failed assertion from failing the test."""


@lru_cache(maxsize=200)
def rx(pattern: str) -> re.Pattern[str]:
    """Compiled when it is first used: a run meets one or two of these languages."""
    return re.compile(pattern, re.M)


LANGUAGES: dict[str, Language] = {
    "javascript": Language(
        (r"(?<![\w.$])(?:[xf]?(?:it|test|specify)|Deno\.test|t\.test)(?:\.\w+)*\s*(?=[(`])"),
        (
            r"(?<![\w.$])(?:expect(?:\.\w+)*\s*\(|assert(?:\.\w+)*\s*\(|t\.(?:is|not|deepEqual|like|true|false|truthy|falsy"
            r"|throws\w*|regex|snapshot|assert|ok|equal|same|match|strictEqual|deepStrictEqual)\s*\()|\.should\b"
        ),
        (
            r"(?<![\w$])(?:x(?:it|test|describe|context|specify)\b|(?:it|test|describe|suite|context|t)\.(?:skip\w*|todo|fails"
            r"|failing|fixme|runIf)\b|this\.skip\(|ctx\.skip\(|pending\(\)|(?:skip|todo)\s*:\s*(?!false))"
        ),
        "",
        (r"(?<![\w$.])(?:f(?:it|test|describe)\s*\(|(?:it|test|describe|suite|context)\.only\b|only\s*:\s*true)"),
        (
            r"process\.(?:exit|reallyExit|abort)\s*\(|process\.exitCode\s*=|process\.on(?:ce)?\(\s*['\"](?:exit|beforeExit)"
            r"|global(?:This)?\.(?:expect|test|it|describe|assert)\s*=|jest\.retryTimes|require\.cache\[|assert\.\w+\s*=[^=]"
        ),
        block="call",
        swallow=r"\bcatch\b\s*(?:\([^)]*\))?\s*\{(?![^}]*\bthrow\b)|\.catch\(",
    ),
    "go": Language(
        (r"^func\s+(?P<title>(?:Test|Fuzz|Example)\w*)\s*\("),
        (r"\b[tb]\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\b|\b(?:assert|require|is|qt|td)\.\w+\("),
        (r"\b[tb]\.Skip(?:f|Now)?\(|testing\.Short\(\)"),
        "",
        "",
        (
            r"os\.Exit\(\s*0|syscall\.Exit|&testing\.[TB]\{|new\(testing\.[TB]\)"
            r"|^func TestMain\b|^//go:build\b.*|^// \+build\b.*"
        ),
        swallow=r"\brecover\(\)",
    ),
    "rust": Language(
        (
            r"#\[(?:\w+::)*(?:test|rstest|test_case|quickcheck|wasm_bindgen_test|test_log)\b[^\]]*\]\s*"
            r"(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?fn\s+(?P<title>\w+)"
        ),
        (r"\b(?:debug_)?(?:prop_)?assert\w*!|\bpanic!|\bunreachable!|\binsta::\w+!"),
        (r"#\[ignore\b|#\[should_panic|#\[cfg\((?:any\(\)|not|feature|FALSE|target)|#\[cfg_attr\([^)]*ignore"),
        (r"#\[ignore\b|#\[cfg\((?:any\(\)|FALSE|all\(test)"),
        "",
        (r"process::(?:exit|abort)|#!\[cfg\("),
        above=(r"^\s*#\[.*\]\s*$"),
        swallow=r"catch_unwind",
    ),
    "ruby": Language(
        (
            r"^\s*(?:[xf]?(?:it|specify|test|scenario|example)\s*[( ]\s*(['\"])(?P<title>.*?)\1"
            r"|def\s+(?P<name>test_\w+))"
        ),
        (r"\bexpect\b|\bassert\w*|\brefute\w*|\.should(?:_not)?\b|\bmust_\w+|\bis_expected\b"),
        (r"^\s*(?:x(?:it|describe|context|specify)\b|skip\b|pending\b|omit\b)|\bskip:\s*|:skip\b|\bpending:\s*"),
        "",
        (r"^\s*f(?:it|describe|context)\b|\bfocus:\s*true|:focus\b"),
        (r"\bexit!?(?:\s*\(?\s*0|\s*$)|\bat_exit\b|Kernel\.exit"),
        block="next",
        comment="#",
        swallow=r"\brescue\b",
    ),
    "jvm": Language(
        (
            r"@(?:Test|ParameterizedTest|RepeatedTest|Property|TestFactory|TestTemplate)\b(?:\([^)]*\))?[^{;]*?"
            r"(?:\bvoid|\bfun|\bdef)\s+(?P<title>\w+|`[^`]+`)\s*\("
        ),
        (r"\bassert\w*\s*[({]|\bverify\w*\s*\(|\bfail\s*\(|\bexpect\w*\(|\.should\w*|\bshould\w+\b|\bcheck\("),
        (r"@(?:Disabled|Ignore)\w*|@Enabled(?:If|On|For)\w*|\bassume\w*\s*\(|\bAssume\.\w+|enabled\s*=\s*false|@Tag\("),
        "",
        "",
        (r"System\.exit|\.halt\(|exitProcess\("),
        above=(r"^\s*@.*$"),
        swallow=r"\bcatch\s*\(\s*(?:final\s+)?\w*\s*:?\s*(?:Throwable|AssertionError|Error|Exception)\b",
    ),
    "csharp": Language(
        (
            r"\[(?:Fact|Theory|Test|TestMethod|TestCase|InlineData)\b[^\]]*\](?:\s*\[[^\]]*\])*[^{;]*?"
            r"\b(?:void|Task\w*(?:<\w+>)?)\s+(?P<title>\w+)\s*\("
        ),
        (r"\bAssert\.\w+|\.Should\w*|\bVerify\w*\("),
        (r"\[Ignore\b|Skip\s*=|Assert\.(?:Ignore|Inconclusive)|\[Explicit\b"),
        "",
        "",
        (r"Environment\.Exit"),
        above=(r"^\s*\[.*\]\s*$"),
        swallow=r"\bcatch\b",
    ),
    "php": Language(
        (r"function\s+(?P<title>test\w*)\s*\(|(?:@test|#\[Test\])[\s\S]*?function\s+(?P<name>\w+)\s*\("),
        (r"(?:->|::)assert\w+\(|\bexpect\w*\(|\bassert\("),
        (r"markTest(?:Skipped|Incomplete)|@(?:requires|group skip)|#\[(?:Requires|Skip)"),
        "",
        "",
        (r"\bexit\s*\(|\bdie\s*\("),
        swallow=r"\bcatch\s*\(\s*\\?(?:Throwable|Exception|AssertionError)",
    ),
    "elixir": Language(
        (r"^\s*test\s+\"(?P<title>[^\"]*)\""),
        (r"\b(?:assert|refute)\w*"),
        (r"@(?:module|describe)?tag\s+:?(?:skip|pending)|@tag\s+skip:"),
        "",
        (r"@tag\s+:?only"),
        (r"System\.(?:halt|stop)"),
        block="next",
        comment="#",
        swallow=r"^\s*rescue\b",
    ),
    "swift": Language(
        (r"func\s+(?P<title>test\w*)\s*\(|@Test\b[^{]*?func\s+(?P<name>\w+)\s*\("),
        (r"\bXCT\w+\(|#(?:expect|require)\b"),
        (r"XCTSkip\w*|\.disabled\(|XCTExpectFailure|withKnownIssue"),
        "",
        "",
        (r"\bexit\(0\)"),
        swallow=r"\bcatch\b",
    ),
    "c": Language(
        (
            r"\b(?:TEST(?:_F|_P|_CASE|_METHOD)?|TYPED_TEST|SCENARIO|START_TEST|BOOST_AUTO_TEST_CASE|Test)\s*"
            r"\(\s*(?P<title>[^)]*)\)"
            r"|\b(?:static\s+)?(?:void|int|bool)\s+(?P<name>test\w*)\s*\("
        ),
        (
            r"\b(?:ASSERT|EXPECT|CHECK|REQUIRE|TEST_ASSERT|BOOST_\w+|CU_ASSERT|XCTAssert)\w*\s*\(|\b(?:ck_|cr_)?assert\w*\s*\("
        ),
        (r"GTEST_SKIP|\bDISABLED_\w+|TEST_IGNORE\w*|\[!?(?:hide|mayfail|shouldfail)\]|\[\.\w*\]|\bSKIP\("),
        "",
        "",
        (r"\b_?exit\s*\(\s*(?:0|EXIT_SUCCESS)|#if\s+0\b|#define\s+(?:assert|ASSERT\w*|EXPECT\w*|NDEBUG)\b"),
        swallow=r"\bcatch\s*\(",
    ),
    "shell": Language(
        (r"^\s*@test\s+(['\"])(?P<title>.*?)\1|^\s*(?:function\s+)?(?P<name>test_\w+)\s*\(\)"),
        (r"^\s*\[\[?\s|\bassert\w*|^\s*(?:diff|cmp|grep -q|test)\s|\bfail\b"),
        (r"^\s*skip\b|startSkipping"),
        "",
        (r"bats:focus"),
        "",
        comment="#",
    ),
    "perl": Language(
        (r"^\s*subtest\s+(['\"])(?P<title>.*?)\1|^sub\s+(?P<name>test_\w+)"),
        (r"\b(?:ok|is|isnt|like|unlike|is_deeply|cmp_ok|pass|fail|throws_ok|lives_ok|dies_ok)\b\s*\(?"),
        (r"skip_all|\bSKIP\b|\bTODO\b|todo_skip"),
        "",
        "",
        (r"\bexit\s*\(?\s*0|POSIX::_exit"),
        block="next",
        comment="#",
    ),
    "dart": Language(
        (r"\b(?:test|testWidgets)\(\s*(['\"])(?P<title>.*?)\1"),
        (r"\bexpect\w*\("),
        (r"\bskip:\s*(?!false)"),
        "",
        (r"\bsolo:\s*true|\bsolo_test"),
        (r"\bexit\(0\)"),
        block="call",
        swallow=r"\bcatch\b",
    ),
    "python": Language(
        (r"^[ \t]*(?:async\s+)?def\s+(?P<title>test\w*)\s*\("),
        (r"^\s*assert\b|\bself\.(?:assert|fail)\w*\(|\b(?:raises|warns)\s*\("),
        (r"\bskip(?:if|If|Unless|Test)?\b|\bxfail\b|expectedFailure|SkipTest|importorskip"),
        "",
        "",
        (r"\b_exit\b|\bsys\.exit\b|SystemExit|pytest_runtest\w*|pytest_collection_modifyitems|pytest_sessionfinish"),
        block="indent",
        comment="#",
        above=(r"^\s*@.*$"),
        swallow=r"^\s*except\s*(?:\(?(?:Base)?Exception|AssertionError|:)",
    ),
}
