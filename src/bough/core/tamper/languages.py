"""How tests, skips and assertions are written in the languages that are compared as text."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Language:
    test: re.Pattern[str]
    """Finds a test; the group `title` is its name."""
    assertion: re.Pattern[str]
    skip: re.Pattern[str]
    loose: re.Pattern[str] | None = None
    """What skips outside of single tests, where that is less than `skip`."""
    only: re.Pattern[str] | None = None
    """Marks that keep all other tests from running."""
    trick: re.Pattern[str] | None = None
    block: str = "braces"
    """Where a test ends: `braces`, `call` (the call's bracket), `indent`, or `next`: up to the next test."""
    comment: str = "//"
    above: re.Pattern[str] | None = None
    """Lines right above a test that belong to it."""
    swallow: str = ""
    """A pattern of what keeps a failed assertion from failing the test."""


def _c(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.M)


LANGUAGES: dict[str, Language] = {
    "javascript": Language(
        _c(r"(?<![\w.$])(?:[xf]?(?:it|test|specify)|Deno\.test|t\.test)(?:\.\w+)*\s*(?=[(`])"),
        _c(
            r"(?<![\w.$])(?:expect(?:\.\w+)*\s*\(|assert(?:\.\w+)*\s*\(|t\.(?:is|not|deepEqual|like|true|false|truthy|falsy"
            r"|throws\w*|regex|snapshot|assert|ok|equal|same|match|strictEqual|deepStrictEqual)\s*\()|\.should\b"
        ),
        _c(
            r"(?<![\w$])(?:x(?:it|test|describe|context|specify)\b|(?:it|test|describe|suite|context|t)\.(?:skip\w*|todo|fails"
            r"|failing|fixme|runIf)\b|this\.skip\(|ctx\.skip\(|pending\(\)|(?:skip|todo)\s*:\s*(?!false))"
        ),
        None,
        _c(r"(?<![\w$.])(?:f(?:it|test|describe)\s*\(|(?:it|test|describe|suite|context)\.only\b|only\s*:\s*true)"),
        _c(
            r"process\.(?:exit|reallyExit|abort)\s*\(|process\.exitCode\s*=|process\.on(?:ce)?\(\s*['\"](?:exit|beforeExit)"
            r"|global(?:This)?\.(?:expect|test|it|describe|assert)\s*=|jest\.retryTimes|require\.cache\[|assert\.\w+\s*=[^=]"
        ),
        block="call",
        swallow=r"\bcatch\b\s*(?:\([^)]*\))?\s*\{(?![^}]*\bthrow\b)|\.catch\(",
    ),
    "go": Language(
        _c(r"^func\s+(?P<title>(?:Test|Fuzz|Example)\w*)\s*\("),
        _c(r"\b[tb]\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\b|\b(?:assert|require|is|qt|td)\.\w+\("),
        _c(r"\b[tb]\.Skip(?:f|Now)?\(|testing\.Short\(\)"),
        None,
        None,
        _c(r"os\.Exit\(\s*0|syscall\.Exit|^func TestMain\b|^//go:build\b.*|^// \+build\b.*"),
        swallow=r"\brecover\(\)",
    ),
    "rust": Language(
        _c(
            r"#\[(?:\w+::)*(?:test|rstest|test_case|quickcheck|wasm_bindgen_test|test_log)\b[^\]]*\]\s*"
            r"(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?fn\s+(?P<title>\w+)"
        ),
        _c(r"\b(?:debug_)?(?:prop_)?assert\w*!|\bpanic!|\bunreachable!|\binsta::\w+!"),
        _c(r"#\[ignore\b|#\[should_panic|#\[cfg\((?:any\(\)|not|feature|FALSE|target)|#\[cfg_attr\([^)]*ignore"),
        _c(r"#\[ignore\b|#\[cfg\((?:any\(\)|FALSE|all\(test)"),
        None,
        _c(r"process::(?:exit|abort)|#!\[cfg\("),
        above=_c(r"^\s*#\[.*\]\s*$"),
        swallow=r"catch_unwind",
    ),
    "ruby": Language(
        _c(
            r"^\s*(?:[xf]?(?:it|specify|test|scenario|example)\s*[( ]\s*(['\"])(?P<title>.*?)\1"
            r"|def\s+(?P<name>test_\w+))"
        ),
        _c(r"\bexpect\b|\bassert\w*|\brefute\w*|\.should(?:_not)?\b|\bmust_\w+|\bis_expected\b"),
        _c(r"^\s*(?:x(?:it|describe|context|specify)\b|skip\b|pending\b|omit\b)|\bskip:\s*|:skip\b|\bpending:\s*"),
        None,
        _c(r"^\s*f(?:it|describe|context)\b|\bfocus:\s*true|:focus\b"),
        _c(r"\bexit!?(?:\s*\(?\s*0|\s*$)|\bat_exit\b|Kernel\.exit"),
        block="next",
        comment="#",
        swallow=r"\brescue\b",
    ),
    "jvm": Language(
        _c(
            r"@(?:Test|ParameterizedTest|RepeatedTest|Property|TestFactory|TestTemplate)\b(?:\([^)]*\))?[^{;]*?"
            r"(?:\bvoid|\bfun|\bdef)\s+(?P<title>\w+|`[^`]+`)\s*\("
        ),
        _c(r"\bassert\w*\s*[({]|\bverify\w*\s*\(|\bfail\s*\(|\bexpect\w*\(|\.should\w*|\bshould\w+\b|\bcheck\("),
        _c(
            r"@(?:Disabled|Ignore)\w*|@Enabled(?:If|On|For)\w*|\bassume\w*\s*\(|\bAssume\.\w+|enabled\s*=\s*false|@Tag\("
        ),
        None,
        None,
        _c(r"System\.exit|\.halt\(|exitProcess\("),
        above=_c(r"^\s*@.*$"),
        swallow=r"\bcatch\s*\(\s*(?:final\s+)?\w*\s*:?\s*(?:Throwable|AssertionError|Error|Exception)\b",
    ),
    "csharp": Language(
        _c(
            r"\[(?:Fact|Theory|Test|TestMethod|TestCase|InlineData)\b[^\]]*\](?:\s*\[[^\]]*\])*[^{;]*?"
            r"\b(?:void|Task\w*(?:<\w+>)?)\s+(?P<title>\w+)\s*\("
        ),
        _c(r"\bAssert\.\w+|\.Should\w*|\bVerify\w*\("),
        _c(r"\[Ignore\b|Skip\s*=|Assert\.(?:Ignore|Inconclusive)|\[Explicit\b"),
        None,
        None,
        _c(r"Environment\.Exit"),
        above=_c(r"^\s*\[.*\]\s*$"),
        swallow=r"\bcatch\b",
    ),
    "php": Language(
        _c(r"function\s+(?P<title>test\w*)\s*\(|(?:@test|#\[Test\])[\s\S]*?function\s+(?P<name>\w+)\s*\("),
        _c(r"(?:->|::)assert\w+\(|\bexpect\w*\(|\bassert\("),
        _c(r"markTest(?:Skipped|Incomplete)|@(?:requires|group skip)|#\[(?:Requires|Skip)"),
        None,
        None,
        _c(r"\bexit\s*\(|\bdie\s*\("),
        swallow=r"\bcatch\s*\(\s*\\?(?:Throwable|Exception|AssertionError)",
    ),
    "elixir": Language(
        _c(r"^\s*test\s+\"(?P<title>[^\"]*)\""),
        _c(r"\b(?:assert|refute)\w*"),
        _c(r"@(?:module|describe)?tag\s+:?(?:skip|pending)|@tag\s+skip:"),
        None,
        _c(r"@tag\s+:?only"),
        _c(r"System\.(?:halt|stop)"),
        block="next",
        comment="#",
        swallow=r"^\s*rescue\b",
    ),
    "swift": Language(
        _c(r"func\s+(?P<title>test\w*)\s*\(|@Test\b[^{]*?func\s+(?P<name>\w+)\s*\("),
        _c(r"\bXCT\w+\(|#(?:expect|require)\b"),
        _c(r"XCTSkip\w*|\.disabled\(|XCTExpectFailure|withKnownIssue"),
        None,
        None,
        _c(r"\bexit\(0\)"),
        swallow=r"\bcatch\b",
    ),
    "c": Language(
        _c(
            r"\b(?:TEST(?:_F|_P|_CASE|_METHOD)?|TYPED_TEST|SCENARIO|START_TEST|BOOST_AUTO_TEST_CASE|Test)\s*"
            r"\(\s*(?P<title>[^)]*)\)"
            r"|\b(?:static\s+)?(?:void|int|bool)\s+(?P<name>test\w*)\s*\("
        ),
        _c(
            r"\b(?:ASSERT|EXPECT|CHECK|REQUIRE|TEST_ASSERT|BOOST_\w+|CU_ASSERT|XCTAssert)\w*\s*\(|\b(?:ck_|cr_)?assert\w*\s*\("
        ),
        _c(r"GTEST_SKIP|\bDISABLED_\w+|TEST_IGNORE\w*|\[!?(?:hide|mayfail|shouldfail)\]|\[\.\w*\]|\bSKIP\("),
        None,
        None,
        _c(r"\b_?exit\s*\(\s*(?:0|EXIT_SUCCESS)|#if\s+0\b|#define\s+(?:assert|ASSERT\w*|EXPECT\w*|NDEBUG)\b"),
        swallow=r"\bcatch\s*\(",
    ),
    "shell": Language(
        _c(r"^\s*@test\s+(['\"])(?P<title>.*?)\1|^\s*(?:function\s+)?(?P<name>test_\w+)\s*\(\)"),
        _c(r"^\s*\[\[?\s|\bassert\w*|^\s*(?:diff|cmp|grep -q|test)\s|\bfail\b"),
        _c(r"^\s*skip\b|startSkipping"),
        None,
        _c(r"bats:focus"),
        None,
        comment="#",
    ),
    "perl": Language(
        _c(r"^\s*subtest\s+(['\"])(?P<title>.*?)\1|^sub\s+(?P<name>test_\w+)"),
        _c(r"\b(?:ok|is|isnt|like|unlike|is_deeply|cmp_ok|pass|fail|throws_ok|lives_ok|dies_ok)\b\s*\(?"),
        _c(r"skip_all|\bSKIP\b|\bTODO\b|todo_skip"),
        None,
        None,
        _c(r"\bexit\s*\(?\s*0|POSIX::_exit"),
        block="next",
        comment="#",
    ),
    "dart": Language(
        _c(r"\b(?:test|testWidgets)\(\s*(['\"])(?P<title>.*?)\1"),
        _c(r"\bexpect\w*\("),
        _c(r"\bskip:\s*(?!false)"),
        None,
        _c(r"\bsolo:\s*true|\bsolo_test"),
        _c(r"\bexit\(0\)"),
        block="call",
        swallow=r"\bcatch\b",
    ),
    "python": Language(
        _c(r"^[ \t]*(?:async\s+)?def\s+(?P<title>test\w*)\s*\("),
        _c(r"^\s*assert\b|\bself\.(?:assert|fail)\w*\(|\b(?:raises|warns)\s*\("),
        _c(r"\bskip(?:if|If|Unless|Test)?\b|\bxfail\b|expectedFailure|SkipTest|importorskip"),
        None,
        None,
        _c(r"\b_exit\b|\bsys\.exit\b|SystemExit|pytest_runtest\w*|pytest_collection_modifyitems|pytest_sessionfinish"),
        block="indent",
        comment="#",
        above=_c(r"^\s*@.*$"),
        swallow=r"^\s*except\s*(?:\(?(?:Base)?Exception|AssertionError|:)",
    ),
}
