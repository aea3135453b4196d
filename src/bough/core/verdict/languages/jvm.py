"""Java, Kotlin, Scala and Groovy, with Maven and Gradle."""

from __future__ import annotations

from bough.core.verdict.language import Language
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import ProjectCommand, Runner


class Maven(Runner):
    name = "maven"
    # The total of each module; the lines of single classes end with the time they took.
    closes = (
        r"\[(?:INFO|WARNING|ERROR)\] Tests run: (?P<total>\d{1,9}), Failures: (?P<failed>\d{1,9}), "
        r"Errors: (?P<failed2>\d{1,9}), Skipped: (?P<skipped>\d{1,9})"
    )
    in_parts = True

    def project(self, look: ProjectFiles) -> ProjectCommand | None:
        if "pom.xml" not in look.files:
            return None
        return ProjectCommand(f"{'./mvnw' if 'mvnw' in look.files else 'mvn'} -B test", "there is a pom.xml", "pom.xml")


class Gradle(Runner):
    name = "gradle"

    def project(self, look: ProjectFiles) -> ProjectCommand | None:
        return ProjectCommand("./gradlew test", "there is a gradlew", "gradlew") if "gradlew" in look.files else None


class Jvm(Language):
    name = "jvm"
    suffixes = ("java", "kt", "kts", "scala", "groovy")
    test_names = r"(?:Tests?|IT|Spec|TestCase)\.\w+$|^Test[A-Z]"
    comment = "//"
    runners = (Maven(), Gradle())
    manifests = ("pom.xml", "gradlew")
    programs = frozenset({"mvn", "gradle"})


LANGUAGE = Jvm()
