"""Java, Kotlin, Scala and Groovy, with Maven, Gradle and Ant."""

from typing import ClassVar

from bough.core.verdict.language import Language
from bough.core.verdict.runner import Runner


class Maven(Runner):
    name = "maven"
    # The closing lines are the totals of modules; lines for single classes end with a time and do not match.
    closes = (
        r"\[(?:INFO|WARNING|ERROR)\] Tests run: (?P<total>\d{1,9}), Failures: (?P<failed>\d{1,9}), "
        r"Errors: (?P<failed2>\d{1,9}), Skipped: (?P<skipped>\d{1,9})"
    )
    in_parts = True
    named = r"\[\w+\] Tests run: [^\n]*?(?P<outcome><<< \w+!)? -+ in (?P<test>[\w.$]+)"
    outcomes: ClassVar = {"": "passed"}
    starts = ((r"mvnw", "", "./mvnw -B test"), (r"pom\.xml", "<project", "mvn -B test"))


class Gradle(Runner):
    name = "gradle"
    starts = ((r"gradlew", "", "./gradlew test"), (r"build\.gradle(?:\.kts)?", "", "gradle test"))


class Ant(Runner):
    name = "ant"
    starts = tuple(
        (r"build\.xml", rf"<target\s[^>]*\bname=\"{target}\"", f"ant {target}")
        for target in ("test", "check", "junit", "tests")
    )
    closes = (
        r"\[junit\] Tests run: (?P<total>\d{1,9}), Failures: (?P<failed>\d{1,9}), Errors: (?P<failed2>\d{1,9})"
        r"(?:, Skipped: (?P<skipped>\d{1,9}))?, Time elapsed: .*"
    )
    in_parts = True


class Jvm(Language):
    name = "jvm"
    suffixes = ("java", "kt", "kts", "scala", "groovy")
    comment = "//"
    runners = (Maven(), Gradle(), Ant())
    manifests = ("pom.xml", "gradlew", "build.gradle", "build.gradle.kts")
    programs = frozenset({"mvn", "gradle", "ant"})
    no_package = (
        r"Plugin ([\w.:-]+) or one of its dependencies could not be resolved|Non-resolvable \w+ POM|"
        r"Could not (?:transfer|find) artifact ([\w.:-]+)"
        r"|Could not resolve (?:all \w+ )?(?:dependencies|[\w-]+\.[\w.:-]+)"
    )
    setups = (
        ("mvnw", "./mvnw dependency:go-offline"),
        (r"pom\.xml", "mvn dependency:go-offline"),
        ("gradlew", "./gradlew dependencies"),
    )
    body = (
        r"^[ \t]+(?:@\w+\s+)*(?:(?:public|private|protected|static|final|synchronized|default|override)\s+)*"
        r"(?:<[^<>]{0,999}>\s+)?(?!(?:public|private|protected|new|return|else|throw|package|import)\b)[\w.]+(?:<[^(){};=]{0,999}>)?(?:\[\])*\s+(\w+)"
        r"\([^(){};]{0,999}\)\s*(?:throws [\w., ]+)?\{|\bfun (?:[\w.<>]+\.)?(\w+)\([^(){}]{0,999}\)[^(){}=\n]*\{"
        r"|\bdef (\w+)[^{}\n]*=\s*\{"
    )
    switch = 'Integer.parseInt("{on}".replace("1", "broken on purpose"));'
