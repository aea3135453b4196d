"""Maven and Gradle."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bough.adapters.verifiers.look import Look
from bough.adapters.verifiers.runners.base import Found, Runner, Said, Side, together

_CLOSING = (
    r"\[(?:INFO|WARNING|ERROR)\] Tests run: (\d{1,9}), Failures: (\d{1,9}), Errors: (\d{1,9}), Skipped: (\d{1,9})"
)


class Maven(Runner):
    name = "maven"
    test_side = Side(r"(.*(Tests?|IT|Spec|TestCase)|Test[A-Z].*)\.(java|kt|kts|scala|groovy)")

    def closing(self, lines: Sequence[str]) -> Said | None:
        """The total of each module; the lines of single classes end with the time they took."""
        found = []
        for at, line in enumerate(lines):
            if match := re.fullmatch(_CLOSING, line.rstrip()):
                ran, failures, errors, skipped = map(int, match.groups())
                found.append(Said(at, max(ran - failures - errors - skipped, 0), failures + errors, skipped))
        return together(found)

    def project(self, look: Look) -> Found | None:
        if "pom.xml" not in look.files:
            return None
        return Found(f"{'./mvnw' if 'mvnw' in look.files else 'mvn'} -B test", "there is a pom.xml", "pom.xml")


class Gradle(Runner):
    name = "gradle"

    def project(self, look: Look) -> Found | None:
        return Found("./gradlew test", "there is a gradlew", "gradlew") if "gradlew" in look.files else None
