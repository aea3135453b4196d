"""Free time in a day: put busy slots together, and find the gaps between them.

A slot is a pair (start, end) in minutes since midnight, with start < end.
"""

Slot = tuple[int, int]


def merge(slots: list[Slot]) -> list[Slot]:
    """The same busy time as few slots as possible, in order. Slots that touch become one."""
    merged: list[Slot] = []
    for start, end in sorted(slots):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged


def gaps(slots: list[Slot], opens: int, closes: int) -> list[Slot]:
    """The free slots between opening and closing time."""
    free: list[Slot] = []
    now = opens
    for start, end in merge(slots):
        if start > now:
            free.append((now, start))
        now = end
    if now < closes:
        free.append((now, closes))
    return free


def clock(minutes: int) -> str:
    """`570` → `09:30`"""
    return f"{minutes // 60:02d}:{minutes % 60:02d}"
