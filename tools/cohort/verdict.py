"""Verdicts by section 6 of the language: one place for every mode, whatever ran the program."""

ORDER = ["match", "reject_allowed", "reject_needless", "silent", "state", "unsupported", "crash"]


def flat(tensor):
    if isinstance(tensor, dict):
        return list(tensor["shape"]), tensor["data"]
    if isinstance(tensor, list):
        return None, tensor
    return None, [tensor]


def is_number(entry):
    return isinstance(entry, (int, float))


def distance(got, want):
    """0 where an entry of a list cell is a text or null."""
    return abs(got - want) if is_number(got) and is_number(want) else 0


def near(got, want, tolerance):
    if not is_number(want) or not is_number(got):
        return got == want
    if got != got:
        return want != want
    return abs(got - want) <= tolerance * (1 + abs(want))


def differs(name, got, want, tolerance):
    """A sentence on how two entries differ, or None."""
    if got is None:
        return f"{name}: missing"
    got_shape, got_data = flat(got)
    want_shape, want_data = flat(want)
    if got_shape != want_shape or len(got_data) != len(want_data):
        return f"{name}: shape {got_shape or len(got_data)} instead of {want_shape or len(want_data)}"
    wrong = [i for i, (g, w) in enumerate(zip(got_data, want_data)) if not near(g, w, tolerance)]
    if not wrong:
        return None
    i = max(wrong, key=lambda at: distance(got_data[at], want_data[at]))
    return f"{name}[{i}]: {got_data[i]!r} instead of {want_data[i]!r} ({len(wrong)} of {len(want_data)} differ)"


def compare(section, got, want, tolerance):
    found = [differs(f"{section} {name}", got.get(name), want[name], tolerance) for name in want]
    return [text for text in found if text]


def judge(program, result):
    """(verdict, detail) of a runner's result: grads, buffers, streams, cells, replays, error, unsupported, crash."""
    expect = program["expect"]
    if result.get("unsupported"):
        return "unsupported", result["unsupported"]
    if result.get("crash"):
        return "crash", result["crash"]
    error = result.get("error")
    if error:
        allowed = program.get("honour_or_reject") or expect.get("error")
        return ("reject_allowed" if allowed else "reject_needless"), error
    if expect.get("error"):
        return "silent", "an index outside was not refused"
    tolerance = 1e-8 if program.get("dtype") == "f64" else 2e-4
    wrong = compare("gradient", result["grads"], expect["grads"], tolerance)
    if wrong:
        return "silent", "; ".join(wrong[:3])
    for section in ("buffers", "streams", "cells"):
        wrong += compare(section.rstrip("s"), result[section], expect[section], tolerance)
    for segment, most in expect.get("max_replays", {}).items():
        if result.get("replays", {}).get(segment, 0) > most:
            wrong.append(f"segment {segment}: {result['replays'][segment]} replays of one instance, at most {most}")
    return ("state", "; ".join(wrong[:3])) if wrong else ("match", "")
