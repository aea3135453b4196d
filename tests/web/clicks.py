"""Which buttons of the dashboard were clicked, and in which state of what they are about.

    python -m tests.web.clicks FILE     # compare what was written there with the inventory; fails where one is left out

A button is known by its `data-action`. Where what it does depends on the state of something, that has a `data-state`,
and each page on which it stands counts by itself.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.web.inventory import VIEWS, list_inventory

WATCH = """(() => {
    const seen = new Set();
    const tell = (how, key) => {
        if (seen.has(how + key)) return;
        seen.add(how + key);
        void window.tellClick?.(how, key);
    };
    const screen = () => document.querySelector('#form') ? 'question' : location.hash.split('/')[1] || 'home';
    const keyOf = (element) => {
        const state = element.closest('[data-state]');
        return `${state ? `${screen()}/${state.dataset.state}: ` : ''}${element.dataset.action}`;
    };
    // What is there for a moment longer: an address changes a little before what is drawn.
    const look = () => {
        for (const each of document.querySelectorAll('[data-action]')) {
            const key = keyOf(each);
            const there = () => each.isConnected && !each.disabled && each.getClientRects().length;
            if (there() && !seen.has('seen' + key))
                setTimeout(() => there() && keyOf(each) === key && tell('seen', key), 500);
        }
    };
    let timer = 0;
    const later = () => { timer ||= setTimeout(() => { timer = 0; look(); }, 250); };
    const note = (event) => {
        const element = event.target instanceof Element && event.target.closest('[data-action]');
        if (!element || element.disabled) return;
        const wanted = element.matches('select, input') ? 'input' : element.matches('form') ? 'submit' : 'click';
        if (event.type === wanted) tell('clicked', keyOf(element));
    };
    for (const kind of ['click', 'input', 'submit']) document.addEventListener(kind, note, true);
    window.addEventListener('keydown', (event) => {
        const tree = event.target instanceof Element && event.target.closest('[role=treegrid]') ? 'tree' : screen();
        // Whether the page took it is known after all that listen.
        setTimeout(() => event.defaultPrevented && tell('clicked', `key ${event.key} in ${tree}`));
    });
    document.addEventListener('DOMContentLoaded', () => {
        look();
        const all = {subtree: true, childList: true, attributes: true};
        new MutationObserver(later).observe(document.documentElement, all);
    });
})()"""


def watch(context: Any) -> None:
    """Note what is shown and clicked on the pages of a browser's context, where somebody asks for it."""
    if file := os.environ.get("TESTS_CLICKS"):

        def tell(_: Any, how: str, key: str) -> None:
            with Path(file).open("a") as told:
                told.write(json.dumps([how, key]) + "\n")

        context.expose_binding("tellClick", tell)
        context.add_init_script(WATCH)


def _shorten(key: str) -> str:
    """The name alone of what does the same in every state."""
    name = key.rpartition(" ")[2]
    return name if name in VIEWS.split() and not key.startswith("key ") else key


def compare(file: Path) -> list[str]:
    """What is wrong: buttons that nobody clicked, or that the inventory does not have."""
    told = [(how, _shorten(key)) for how, key in map(json.loads, file.read_text().splitlines())]
    clicked = {key for how, key in told if how == "clicked"}
    seen = {key for how, key in told if how == "seen"}
    known = list_inventory()
    print(f"{len(clicked & known)} of {len(known)} buttons × states clicked, {len(seen)} seen")
    return [
        *(f"not clicked: {key}" for key in sorted(known - clicked)),
        *(f"shown and not clicked: {key}" for key in sorted(seen - clicked - known)),
        *(f"not in the inventory: {key}" for key in sorted(clicked - known)),
    ]


if __name__ == "__main__":
    wrong = compare(Path(sys.argv[1]))
    print(*wrong, sep="\n")
    sys.exit(1 if wrong else 0)
