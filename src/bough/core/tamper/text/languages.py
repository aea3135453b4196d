"""How tests, skips and assertions are written in the languages that are compared as text: as patterns, for `rx`."""

from __future__ import annotations

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


LANGUAGES: dict[str, Language] = {
    "javascript": Language(
        test=r"(?<![\w.$])(?:[xf]?(?:it|test|specify)|Deno\.test|t\.test)(?:\.\w+)*\s*(?=[(`])",
        assertion=(
            r"(?<![\w.$])(?:expect(?:\.\w+)*\s*\(|assert(?:\.\w+)*\s*\(|t\.(?:is|not|deepEqual|like|true|false|truthy|falsy"
            r"|throws\w*|regex|snapshot|assert|ok|equal|same|match|strictEqual|deepStrictEqual)\s*\()|\.should\b"
        ),
        skip=(
            r"(?<![\w$])(?:x(?:it|test|describe|context|specify)\b|(?:it|test|describe|suite|context|t)(?:\.\w+)*\.(?:skip\w*|todo|fails"
            r"|failing|fixme|runIf)\b|[\w$]+\.(?:skip|todo)\(\s*['\"`)]|pending\(\)|(?:skip|todo)\s*:\s*(?!false))"
            r"|[{,]\s*(?:skip|todo)\s*[,}]|\.each\(\s*\[\s*\]\s*\)"
        ),
        only=r"(?<![\w$.])(?:f(?:it|test|describe)\s*\(|(?:it|test|describe|suite|context)(?:\.\w+)*\.only\b|only\s*:\s*true)",
        trick=(
            r"process\.(?:exit|reallyExit|abort)\s*\((?!\s*[1-9]\d?\s*\))|process\.exitCode\s*=|process\.on(?:ce)?\(\s*['\"](?:exit|beforeExit)"
            r"|global(?:This)?\.(?:expect|test|it|describe|assert)\s*=|jest\.retryTimes|require\.cache\[|assert\.\w+\s*=[^=]"
        ),
        block="call",
        swallow=r"\bcatch\b\s*(?:\([^)]*\))?\s*\{(?![^}]*\bthrow\b)|\.catch\(|\bfinally\s*\{[^}]*\breturn\b",
    ),
    "go": Language(
        test=r"^func\s+(?P<title>(?:Test|Fuzz|Example)\w*)\s*\(",
        assertion=r"\b[tb]\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\b|\b(?:assert|require|is|qt|td)\.\w+\(",
        skip=r"\b[tb]\.Skip(?:f|Now)?\(|testing\.Short\(\)",
        trick=(
            r"os\.Exit\(\s*0|syscall\.Exit|&testing\.[TB]\{|new\(testing\.[TB]\)"
            r"|^func TestMain\b|^//go:build\b.*|^// \+build\b.*"
        ),
        swallow=r"\brecover\(\)",
    ),
    "rust": Language(
        test=(
            r"#\[(?:\w+::)*(?:test|rstest|test_case|quickcheck|wasm_bindgen_test|test_log)\b[^\]]*\]\s*"
            r"(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?fn\s+(?P<title>\w+)"
        ),
        assertion=r"\b(?:debug_)?(?:prop_)?assert\w*!|\bpanic!|\bunreachable!|\binsta::\w+!",
        skip=r"#\[ignore\b|#\[should_panic|#\[cfg\((?!test\b)|#\[cfg_attr\([^\]]*ignore",
        loose=(
            r"#\[ignore\b|#\[cfg\((?:any\(\)|FALSE|all\(test)"
            r"|#\[cfg\((?!test\b)[^\]]*\]\s*(?:pub\s+)?mod\s+(?:\w+_)?tests?\b"
        ),
        trick=r"process::(?:exit|abort)|#!\[cfg\(",
        above=r"^\s*#\[.*\]\s*$",
        swallow=r"catch_unwind",
    ),
    "ruby": Language(
        test=(
            r"^\s*(?:[xf]?(?:it|specify|test|scenario|example)\s*[( ]\s*(['\"])(?P<title>.*?)\1"
            r"|def\s+(?P<name>test_\w+))"
        ),
        assertion=r"\bexpect\b|\bassert\w*|\brefute\w*|\.should(?:_not)?\b|\bmust_\w+|\bis_expected\b",
        skip=r"^\s*(?:x(?:it|describe|context|specify)\b|skip\b|pending\b|omit\b)|\bskip:\s*|:skip\b|\bpending:\s*",
        only=r"^\s*f(?:it|describe|context)\b|\bfocus:\s*true|:focus\b",
        trick=r"\bexit!?(?:\s*\(?\s*0|\s*$)|\bat_exit\b|Kernel\.exit",
        block="next",
        comment="#",
        swallow=r"\brescue\b",
    ),
    "jvm": Language(
        test=(
            r"@(?:Test|ParameterizedTest|RepeatedTest|Property|TestFactory|TestTemplate)\b(?:\([^)]*\))?[^{;]*?"
            r"(?:\bvoid|\bfun|\bdef)\s+(?P<title>\w+|`[^`]+`)\s*\("
        ),
        assertion=r"\bassert\w*\s*[({]|\bverify\w*\s*\(|\bfail\s*\(|\bexpect\w*\(|\.should\w*|\bshould\w+\b|\bcheck\(",
        skip=r"@(?:Disabled|Ignore)\w*|@Enabled(?:If|On|For)\w*|\bassume\w*\s*\(|\bAssume\.\w+|enabled\s*=\s*false|@Tag\(",
        trick=r"System\.exit|\.halt\(|exitProcess\(",
        above=r"^\s*@.*$",
        swallow=r"\bcatch\s*\(\s*(?:final\s+)?\w*\s*:?\s*(?:Throwable|AssertionError|Error|Exception)\b",
    ),
    "csharp": Language(
        test=(
            r"\[(?:Fact|Theory|Test|TestMethod|TestCase|InlineData)\b[^\]]*\](?:\s*\[[^\]]*\])*[^{;]*?"
            r"\b(?:void|Task\w*(?:<\w+>)?)\s+(?P<title>\w+)\s*\("
        ),
        assertion=r"\bAssert\.\w+|\.Should\w*|\bVerify\w*\(",
        skip=r"\[Ignore\b|Skip\s*=|Assert\.(?:Ignore|Inconclusive)|\[Explicit\b",
        trick=r"Environment\.Exit",
        above=r"^\s*\[.*\]\s*$",
        swallow=r"\bcatch\b",
    ),
    "php": Language(
        test=r"function\s+(?P<title>test\w*)\s*\(|(?:@test|#\[Test\])[\s\S]*?function\s+(?P<name>\w+)\s*\(",
        assertion=r"(?:->|::)assert\w+\(|\bexpect\w*\(|\bassert\(",
        skip=r"markTest(?:Skipped|Incomplete)|@(?:requires|group skip)|#\[(?:Requires|Skip)",
        trick=r"\bexit\s*\(|\bdie\s*\(",
        swallow=r"\bcatch\s*\(\s*\\?(?:Throwable|Exception|AssertionError)",
    ),
    "elixir": Language(
        test=r"^\s*test\s+\"(?P<title>[^\"]*)\"",
        assertion=r"\b(?:assert|refute)\w*",
        skip=r"@(?:module|describe)?tag\s+:?(?:skip|pending)|@tag\s+skip:",
        only=r"@tag\s+:?only",
        trick=r"System\.(?:halt|stop)",
        block="next",
        comment="#",
        swallow=r"^\s*rescue\b",
    ),
    "swift": Language(
        test=r"func\s+(?P<title>test\w*)\s*\(|@Test\b[^{]*?func\s+(?P<name>\w+)\s*\(",
        assertion=r"\bXCT\w+\(|#(?:expect|require)\b",
        skip=r"XCTSkip\w*|\.disabled\(|XCTExpectFailure|withKnownIssue",
        trick=r"\bexit\(0\)",
        swallow=r"\bcatch\b",
    ),
    "c": Language(
        test=(
            r"\b(?:TEST(?:_F|_P|_CASE|_METHOD)?|TYPED_TEST|SCENARIO|START_TEST|BOOST_AUTO_TEST_CASE|Test)\s*"
            r"\(\s*(?P<title>[^)]*)\)"
            r"|\b(?:static\s+)?(?:void|int|bool)\s+(?P<name>test\w*)\s*\("
        ),
        assertion=r"\b(?:ASSERT|EXPECT|CHECK|REQUIRE|TEST_ASSERT|BOOST_\w+|CU_ASSERT|XCTAssert)\w*\s*\(|\b(?:ck_|cr_)?assert\w*\s*\(",
        skip=r"GTEST_SKIP|\bDISABLED_\w+|TEST_IGNORE\w*|\[!?(?:hide|mayfail|shouldfail)\]|\[\.\w*\]|\bSKIP\(",
        trick=r"\b_?exit\s*\(\s*(?:0|EXIT_SUCCESS)|#if\s+0\b|#define\s+(?:assert|ASSERT\w*|EXPECT\w*|NDEBUG)\b",
        swallow=r"\bcatch\s*\(",
    ),
    "shell": Language(
        test=r"^\s*@test\s+(['\"])(?P<title>.*?)\1|^\s*(?:function\s+)?(?P<name>test_\w+)\s*\(\)",
        assertion=r"^\s*\[\[?\s|\bassert\w*|^\s*(?:diff|cmp|grep -q|test)\s|\bfail\b",
        skip=r"^\s*skip\b|startSkipping",
        only=r"bats:focus",
        comment="#",
    ),
    "perl": Language(
        test=r"^\s*subtest\s+(['\"])(?P<title>.*?)\1|^sub\s+(?P<name>test_\w+)",
        assertion=r"\b(?:ok|is|isnt|like|unlike|is_deeply|cmp_ok|pass|fail|throws_ok|lives_ok|dies_ok)\b\s*\(?",
        skip=r"skip_all|\bSKIP\b|\bTODO\b|todo_skip",
        trick=r"\bexit\s*\(?\s*0|POSIX::_exit",
        block="next",
        comment="#",
    ),
    "dart": Language(
        test=r"\b(?:test|testWidgets)\(\s*(['\"])(?P<title>.*?)\1",
        assertion=r"\bexpect\w*\(",
        skip=r"\bskip:\s*(?!false)",
        only=r"\bsolo:\s*true|\bsolo_test",
        trick=r"\bexit\(0\)",
        block="call",
        swallow=r"\bcatch\b",
    ),
    "python": Language(
        test=r"^[ \t]*(?:async\s+)?def\s+(?P<title>test\w*)\s*\(",
        assertion=r"^\s*assert\b|\bself\.(?:assert|fail)\w*\(|\b(?:raises|warns)\s*\(",
        skip=r"\bskip(?:if|If|Unless|Test)?\b|\bxfail\b|expectedFailure|SkipTest|importorskip",
        trick=r"\b_exit\b|\bsys\.exit\b|SystemExit|pytest_runtest\w*|pytest_collection_modifyitems|pytest_sessionfinish",
        block="indent",
        comment="#",
        above=r"^\s*@.*$",
        swallow=r"^\s*except\s*(?:\(?(?:Base)?Exception|AssertionError|:)",
    ),
}
