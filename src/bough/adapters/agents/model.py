"""An outside agent in place of a model: it answers bough's own questions (how big a goal is, how to plan it) in text,
in an empty folder, so that no other model needs to be configured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bough.adapters.agents.acp import AcpAgent
from bough.adapters.workspaces.plain_folder import make_plain_folder
from bough.core.messages import Answer, Prompt, Replied
from bough.core.rules import Rules
from bough.core.settings.sections import MODEL
from bough.ports.agents import TurnEnded

ALONE = "Answer in your last message, only from what you are told here, without using any tool."


class AgentModel:
    window = 0

    def __init__(self, agent: AcpAgent, folder: Path, rules: Rules) -> None:
        self.name = f"{MODEL}{agent.name}"
        self._agent, self._folder, self._rules = agent, folder, rules

    async def ask(self, prompt: Prompt, progress: Callable[[str], None]) -> Answer:
        said = [prompt.system, *(_words(message) for message in prompt.messages), ALONE]
        talk = await self._agent.start(make_plain_folder(self._folder, "empty"), self._rules, progress)
        text: list[str] = []
        usage, cost = Answer().usage, None
        try:
            await talk.say("\n\n".join(part for part in said if part))
            while True:
                heard = await talk.heard(self._rules.model_timeout)
                text.append(heard.text)
                cost = heard.cost if cost is None else cost + (heard.cost or 0.0)
                usage = heard.usage if heard.usage.input else usage
                if isinstance(heard, TurnEnded):
                    return Answer("\n".join(part for part in text if part), (), heard.stop, usage, cost, self.name)
                await talk.results(heard.calls, self._rules.model_timeout)
        finally:
            await talk.close()

    async def close(self) -> None:
        """Do nothing: no resource is held between questions."""


def _words(message: object) -> str:
    text = getattr(message, "text", "")
    return f"You answered:\n{text}" if isinstance(message, Replied) else str(text)
