"""The critical path by its definition in docs/page.md, without regard for speed, and attempts to try it with."""

import random
import re

STAGES = [("probe|fonts|compositors", 0), ("measur", 1), ("frames |audio", 2), ("", 3)]
IDLE = ["superseded", "stopped", "unknown", "away"]
SLACK = 0.05


def stage(attempt):
    return next(number for pattern, number in STAGES if re.match(pattern, attempt["label"]))


def begin(attempt):
    return attempt["start"] + (attempt["phases"] or [0])[0]


def slot_freed(attempt):
    phases = attempt["phases"]
    return attempt["end"] if phases is None else min(attempt["end"], attempt["start"] + sum(phases[:3]))


def brute_force_path(attempts):
    """Links of an attempt's index, and its times from and to."""
    ended = [(index, attempt) for index, attempt in enumerate(attempts) if attempt["end"] is not None]
    decisive = [entry for entry in ended if entry[1]["outcome"] not in IDLE]
    if not decisive:
        return []
    ranks = {index: rank for rank, index in enumerate(sorted(range(len(attempts)), key=lambda i: attempts[i]["start"]))}
    index, attempt = max(decisive, key=lambda entry: (entry[1]["end"], ranks[entry[0]]))
    to = attempt["end"]
    path = []
    while True:
        start = min(begin(attempt), to)
        path.insert(0, (index, start, to))
        before = []
        for other, candidate in ended:
            if ranks[other] >= ranks[index]:
                continue
            if candidate["worker"] == attempt["worker"] and slot_freed(candidate) <= start + SLACK:
                before.append((slot_freed(candidate), ranks[other], other))
            isSame = (candidate["ordinal"], candidate["label"]) == (attempt["ordinal"], attempt["label"])
            isInput = candidate["outcome"] not in IDLE and stage(candidate) < stage(attempt)
            if (isSame or isInput) and candidate["end"] <= attempt["start"]:
                before.append((candidate["end"], ranks[other], other))
        if not before:
            return path
        time, _, index = max(before)
        attempt = attempts[index]
        to = min(time, start)


def random_attempts(seed):
    """Attempts of one job; of some seeds at times that differ, of others at whole seconds, of which many are equal."""
    numbers = random.Random(seed)
    whole = round if seed % 3 == 0 else float
    labels = [f"probe {name}" for name in "ab"] + ["measuring frames 0..9"] * numbers.randint(0, 1)
    labels += [f"frames {number * 10}..{number * 10 + 9} of a" for number in range(numbers.randint(1, 20))]
    labels += ["audio", "put the film together"]
    attempts = []
    for ordinal, label in enumerate(labels):
        for turn in range(numbers.choice([1, 1, 1, 2])):
            start = whole(numbers.uniform(0, 20)) + 8 * stage({"label": label}) + 5 * turn
            phases = [whole(numbers.uniform(0, seconds)) for seconds in [1, 2, 9, 1]] if numbers.random() < 0.7 else None
            end = start + (sum(phases) + whole(0.01) if phases else whole(numbers.uniform(0, 9)))
            attempts.append({
                "job": "j", "ordinal": ordinal, "label": label, "worker": numbers.choice("xyz"), "start": start,
                "end": None if numbers.random() < 0.05 else end, "phases": phases, "lane": 0, "isBackup": False,
                "outcome": numbers.choice(["done"] * 6 + ["crashed", *IDLE])})
    return attempts
