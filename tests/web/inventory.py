"""Every button, choice and key of the dashboard, with the states in which a person can use it.

A name alone: it does the same wherever it stands. `page/state: name`: what it does depends on the state of what it is
about, and each page counts by itself.
"""

VIEWS = """
all-runs all-states allow-settings branch-of-tree by-task by-work choose close-span colours compare-run
deny-settings earlier earlier-lanes find-run go-to-round later later-lanes link-answer link-suggested new-run newest
notify older one-state proof-file search skip span tests-of unfold unit whole-goal zoom-in zoom-out
"""
"""What a person looks at, and what stands on one page alone."""
CHANGES = "add-comment beside cancel-comment comment file find-file remove-comment send-comments unified viewed"
REWIND = "rewind rewind-to cancel-rewind really-rewind"
MESSAGE = "message cancel-message send"
GOAL = "edit drop keep-it really-drop begins-after save-goal close-goal"
NIGHT = "night give-up partial-branches draft-requests start-night cancel-night"
ADD = "add begins-after save-goal close-goal"
MOVES = "move-up move-down"
TAKE = "apply-all open-requests take apply-chosen open-chosen cancel-taking apply-edges"
ENDS = ("completed", "accepted", "not_proven", "failed")
STATES = {
    "home run task": {
        "command": "yes no",
        "command late": "yes no put-away",
        "tests": "yes no",
        "tests late": "yes no put-away",
        "plan": "plan-run plan-own plan-none plan-other",
        "plan late": "plan-run plan-own plan-none plan-other put-away",
        "question": "suggested answer",
        "question late": "suggested answer put-away",
    },
    "home": {"prompt": "start tonight project more-choices"},
    "new": {
        "new": "find-check show-plan start-run list-goal",
        "follows": "find-check show-plan start-run",
    },
    "home backlog": {
        "ready": f"{TAKE} {GOAL} {MOVES}",
        "ready applied": f"{TAKE} undo-all",
        "applied": "undo-all",
        "conflict": "merge keep-one drop-other see-both",
        "merged": "keep-one drop-other see-both",
        "working": f"stop-night {ADD}",
        "open": f"{NIGHT} {ADD}",
        "ended": f"{NIGHT} {ADD}",
        "fresh": f"{NIGHT} {ADD}",
        "given_up": GOAL,
        "not_proven": GOAL,
        "waiting": GOAL,
        "running": GOAL,
        "not_begun": f"{GOAL} {MOVES}",
    },
    "run task": {"over": CHANGES, "live": CHANGES},
    "run": {
        "live": f"pause stop stop-now {MESSAGE}",
        "halted": f"resume resume-changes undo {MESSAGE} {REWIND}",
        "budget": f"resume undo {MESSAGE} {REWIND}",
        "asks": f"undo {MESSAGE} {REWIND}",
        "completed": f"apply apply-edges branch request follow-up {REWIND}",
        "completed applied": f"undo branch request follow-up {REWIND}",
        "completed unchanged": f"follow-up {REWIND}",
        "accepted": f"apply apply-edges branch request follow-up {REWIND}",
        "accepted applied": f"undo branch request follow-up {REWIND}",
        "accepted unchanged": f"follow-up {REWIND}",
        "not_proven": f"partial apply-partial apply-edges follow-up {REWIND}",
        "not_proven applied": f"undo follow-up {REWIND}",
        "not_proven unchanged": f"follow-up {REWIND}",
        "failed": f"partial apply-partial apply-edges follow-up {REWIND}",
        "failed applied": f"undo follow-up {REWIND}",
        "failed unchanged": f"follow-up {REWIND}",
    },
    "task": {
        "live": MESSAGE,
        **dict.fromkeys(("halted", "budget", "asks"), f"{MESSAGE} {REWIND}"),
        **dict.fromkeys((f"{end}{how}" for end in ENDS for how in ("", " applied", " unchanged")), REWIND),
    },
}
KEYS = {
    "home": "j k y n c / ? Enter Escape",
    "tree": "ArrowDown ArrowUp ArrowLeft ArrowRight Home End PageDown PageUp Enter",
}


def list_inventory() -> set[str]:
    found = {*VIEWS.split()}
    found |= {f"key {key} in {where}" for where, keys in KEYS.items() for key in keys.split()}
    for pages, states in STATES.items():
        for state, names in states.items():
            found |= {f"{page}/{state}: {name}" for page in pages.split() for name in names.split()}
    return found


def list_names() -> set[str]:
    """The names alone."""
    return {key.rpartition(" ")[2] for key in list_inventory() if not key.startswith("key ")}
