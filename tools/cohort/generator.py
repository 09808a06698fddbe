"""Random conformance programs from a seed: `generator.py FOLDER SEED COUNT` writes g00001.json and so on.

A third are of class RND, made of anything; the others are built around one root-cause class. Each carries the oracle's
`expect`. A program is kept only if it is valid, finite, away from ties, and hardly moved by a change of its numbers in
the seventh digit, so that a runner in float32 has no excuse. Programs already in the folder are left alone.
"""
import json
import random
import sys
from pathlib import Path

import numpy as np

import oracle
from generator_classes import ANYTHING, CLASSES, EVERYWHERE
from generator_steps import STEPS, number
from language import mentioned

MARGIN = 2e-4
MOVED = 2e-5


class Builder:
    """Names and statements of one program that is being made."""

    def __init__(self, rng):
        self.rng = rng
        self.batch, self.width, self.rows = rng.choice([(2, 4), (3, 4), (3, 3)]) + (5,)
        self.statements, self.counter, self.fails = [], 0, 0
        self.streams = {"r": {"seed": rng.randrange(2 ** 31), "id": 1, "kind": "default"},
                        "q": {"seed": rng.randrange(2 ** 40), "id": rng.randrange(3), "kind": "named"}}
        self.cells = {"n": 0, "log": [], "on": 1, "acc": 0, "K": self.tensor([self.width])}

    def tensor(self, shape):
        count = int(np.prod(shape))
        return {"shape": shape, "data": [round(self.rng.uniform(-1.4, 1.4), 3) for _ in range(count)]}

    def add(self, statement):
        self.statements.append(statement)

    def fresh(self):
        self.counter += 1
        return f"t{self.counter}"

    def named(self, statement):
        self.add(statement | {"out": self.fresh()})
        return self.statements[-1]["out"]

    def op(self, name, operands, **attributes):
        return self.named({"do": name, "in": operands, **attributes})

    def read(self, name, region=None):
        return self.named({"do": "read", "of": name} | ({"region": region} if region else {}))

    def mode(self):
        return self.rng.choice(["assign", "assign", "add", "mul"])

    def need_stream(self, name, kind):
        self.streams.setdefault(name, {"seed": self.rng.randrange(2 ** 31), "kind": kind})

    def need_cell(self, name, content):
        self.cells.setdefault(name, content)

    def rows_by_name(self):
        return ["D", "E", "V", "U", "bias"]

    def some_row(self):
        two = self.rng.sample(range(self.rows), 2)
        wide = [0, self.width]
        return self.rng.choice([("D", None, [self.width]), ("E", None, [self.width]), ("V", None, [self.width]),
                                ("U", None, [self.width]), ("M", None, wide), ("M", {"rows": two}, wide),
                                ("T", None, wide), ("Q", {"rows": two}, wide), ("T", {"rows": [1]}, wide)])

    def write_some(self, h, foreign=False):
        name, region, _ = self.some_row()
        value = number(self)
        if h and self.rng.random() < 0.4:
            value = self.op("stop", [self.op("mean", [h], axis=0)])
        self.add({"do": "write", "to": name, "mode": self.mode(), "value": value} | ({"region": region} if region else {})
                 | ({"foreign": True} if foreign else {}))

    def take(self):
        made, self.statements = self.statements, []
        return made


def segment(b, recipe, steps, flags, earlier):
    """One segment: its declaration; `p` is an argument where a step wants one."""
    chosen = [b.rng.choice(steps)] + [b.rng.choice(steps if b.rng.random() < 0.4 else recipe.fillers)
                                      for _ in range(b.rng.randrange(1, 4))]
    b.rng.shuffle(chosen)
    nested = b.rng.choice(earlier) if earlier and "nested" in flags and b.rng.random() < 0.5 else None
    takes_p = "argument_state" in chosen or "arguments" in flags or (nested and nested[2])
    h = "h"
    for name in chosen:
        h = STEPS[name](b, h)
        if nested and b.rng.random() < 0.6:
            if h == "h":
                h = b.op("sin", [h])
            out = b.fresh()
            b.add({"do": "call", "seg": nested[0], "in": [h] + (["p"] if nested[2] else []), "out": [out]
                   + ([b.fresh()] if nested[3] else [])})
            h, nested = out, None
    h = STEPS["act" if b.rng.random() < 0.8 else "norm"](b, h)
    two = "two_outputs" in flags and b.rng.random() < 0.6
    outs = [h] + ([b.op("mul", [b.op("sin", [h]), number(b)])] if two else [])
    body = b.take()
    made = {"args": ["h"] + (["p"] if takes_p else []), "body": body, "out": outs}
    if "keep" in flags:
        values = [s["out"] for s in body if s["do"] in ("mul", "matmul", "tanh", "sin", "exp", "softmax")]
        made["keep"] = sorted(set(b.rng.sample(values, min(len(values), 2))))
    return made, takes_p, two


def between(b, flags, h):
    """What main does between two calls; the value it goes on with."""
    if "draw_between" in flags and b.rng.random() < 0.6:
        b.named({"do": "draw", "stream": b.rng.choice(["r", "q"]), "shape": [b.rng.randrange(1, 6)]})
    if "log_between" in flags and b.rng.random() < 0.6:
        b.add({"do": "append", "cell": "log", "value": "between"})
    if {"two_writers", "write_after", "many_calls"} & flags and b.rng.random() < 0.4:
        b.write_some(h)
    if "set_between" in flags and b.rng.random() < 0.6:
        set_cell(b)
    if "hooks" in flags and b.rng.random() < 0.5:
        body = [{"do": "write", "to": b.rng.choice(["D", "E"]), "mode": b.rng.choice(["add", "mul"]), "value": number(b)},
                {"do": "append", "cell": "log", "value": "hook"}]
        h = hook(b, h, body)
    if "hook_step" in flags and b.rng.random() < 0.5:
        h = hook(b, h, [{"do": "write", "to": b.rng.choice(["W", "bias"]), "mode": "mul", "value": number(b, 0.5, 0.9)}])
    return h


def hook(b, h, body):
    out = b.fresh()
    b.add({"do": "hook", "in": [h], "out": out, "body": body[:b.rng.randrange(1, len(body) + 1)]})
    return out


def set_cell(b):
    cell = b.rng.choice([c for c in ("on", "full", "K", "n") if c in b.cells])
    b.add({"do": "set", "cell": cell, "value": number(b) if cell == "K" else b.rng.choice([0, 1])}
          if cell != "K" else {"do": "set", "cell": "K", "value": b.op("mul", ["D", 1.0])})


def calls(b, segments, flags, count):
    """A chain of calls from the leaf x; the values it ends with."""
    h, second = b.op("mul", ["x", 1.0]), None
    if count and "no_segment" in flags:
        for _ in range(count):
            h = STEPS["act"](b, STEPS[b.rng.choice(segments)](b, h))
        return h, None
    for _ in range(count):
        name, made, takes_p, two = b.rng.choice(segments)
        out = [b.fresh() for _ in made["out"]]
        given = [h] + ([b.rng.choice(["D", "E", "V", "U", "bias"])] if takes_p else [])
        call = {"do": "call", "seg": name, "in": given, "out": out}
        if "within" in flags and b.rng.random() < 0.7:
            call = {"do": "with", "key": "gain", "value": number(b), "body": [call]}
        b.add(call)
        old, h = h, out[0]
        second = out[1] if two else second
        if "argument_seen" in flags and b.rng.random() < 0.5:
            h = b.op("tanh", [b.op("add", [h, old])])
        h = between(b, flags, h)
    return h, second


def loss(b, h, second, flags):
    if second and "diamond" in flags:
        return b.op("mul", [b.op("mul", [h, h]), b.op("tanh", [second])])
    if second:
        h = b.op("add", [h, second])
    return b.op("mul", [h, "w"])


def after(b, flags, h):
    """What main does between the forward and `backward`."""
    for flag in ("write_after", "two_writers", "write_elsewhere"):
        if flag in flags:
            b.write_some(h if b.rng.random() < 0.5 else None)
    if "foreign_after" in flags:
        b.write_some(None, foreign=True)
    if "step_between" in flags:
        b.add({"do": "write", "to": b.rng.choice(["W", "bias"]), "mode": b.rng.choice(["add", "mul"]),
               "value": number(b, 0.4, 0.9)})
    if "set_between" in flags:
        set_cell(b)


def main_body(b, segments, flags):
    b.named({"do": "sin", "in": ["x"]})
    b.statements[-1]["out"] = "m0"
    b.add({"do": "mul", "in": ["g", number(b)], "out": "m1"})
    if "on_grad" in flags:
        b.add({"do": "on_grad", "of": b.rng.choice(["W", "x"]), "body": [{"do": "bump", "cell": "acc", "by": 1}]})
    count = b.rng.randrange(4, 8) if "many_calls" in flags else b.rng.randrange(1, 4)
    count = 2 if {"twice", "two_writers"} & flags else count
    rounds = 2 if "two_iterations" in flags else 1
    for _ in range(rounds):
        h, second = calls(b, segments, flags, count)
        root = loss(b, h, second, flags)
        after(b, flags, h)
        again = bool({"keep_twice", "write_between_backwards"} & flags)
        end = {"do": "backward", "of": [root]} | ({"retries": 40} if "retries" in flags else {})
        b.add(end | ({"keep": True} if again else {}))
        if "write_between_backwards" in flags:
            b.write_some(None)
        if again:
            b.add(dict(end))
        if rounds == 2:
            g = b.named({"do": "grad", "of": "W", "clear": True})
            b.add({"do": "write", "to": "W", "mode": "add", "value": b.op("mul", [g, -0.1])})
    return b.take()


def declare(b, program):
    """Adds what the statements speak of."""
    words = mentioned(program["main"], program)
    w, n = b.width, b.rows
    inputs = {"x": {"kind": "leaf", **b.tensor([b.batch, w])}, "W": {"kind": "param", **b.tensor([w, w])},
              "W2": {"kind": "param", **b.tensor([w, w])}, "bias": {"kind": "param", **b.tensor([w])},
              "g": {"kind": "leaf", **b.tensor([w])}, "w": {"kind": "frozen", **b.tensor([b.batch, w])}}
    eye = [float(i == j) for i in range(w) for j in range(w)]
    buffers = {"D": b.tensor([w]), "E": b.tensor([w]), "M": b.tensor([n, w]), "Q": b.tensor([n, w]), "sc": b.tensor([n]),
               "ptr": {"shape": [1], "data": [b.rng.randrange(n)], "dtype": "i64"},
               "idx": {"shape": [2], "data": b.rng.sample(range(n), 2), "dtype": "i64"},
               "cnt": {"shape": [1], "data": [0], "dtype": "i64"}, "use": {"shape": [w], "data": [0.0] * w},
               "eye": {"shape": [w, w], "data": eye}}
    lo, at = b.rng.randrange((n - 1) * w), b.rng.randrange(3)
    views = {"V": {"of": "M", "region": {"span": [lo, lo + w]}},
             "U": {"of": "M", "region": {"block": {"offset": at, "shape": [w], "stride": [3]}}},
             "T": {"of": "M", "region": {"block": {"offset": at, "shape": [2, w], "stride": [2 * w, 1]}}}}
    used = lambda names: {k: v for k, v in names.items() if k in words}
    program["views"] = used(views)
    words |= {"M"} if program["views"] else set()
    program |= {"inputs": used(inputs), "buffers": used(buffers), "streams": used(b.streams), "cells": used(b.cells),
                "contexts": {"gain": number(b)} if "gain" in words else {}}
    return {k: v for k, v in program.items() if v or k in ("main", "segments")}


def build(rng, cls, name):
    b = Builder(rng)
    if cls == "RND":
        recipe = CLASSES["C01"]
        flags = set(rng.sample(EVERYWHERE, rng.randrange(2, 7)))
        steps = rng.sample([s for s in ANYTHING if s != "failing" or "retries" in flags], 10)
    else:
        recipe = CLASSES[cls]
        steps, flags = list(recipe.steps), set(recipe.main)
        flags |= {f for f in ("nested", "keep", "write_after") if rng.random() < 0.15}
    program = {"format": "reprise-conformance/1", "name": name, "class": cls, "about": "", "segments": {}}
    segments = []
    if "no_segment" not in flags:
        for i in range(rng.randrange(2, 6) if cls == "RND" else rng.randrange(1, 4)):
            made, takes_p, two = segment(b, recipe, steps, flags, [s for s in segments])
            segments.append((f"S{i}", made, takes_p, two))
            program["segments"][f"S{i}"] = made
        nested_shape = [(n, m, p, t) for n, m, p, t in segments]
        program["main"] = main_body(b, nested_shape, flags)
    else:
        program["main"] = main_body(b, [s for s in steps if s not in ("argument_write", "argument_state")], flags)
    if rng.random() < 0.08:
        program["dtype"] = "f64"
    program["about"] = (f"generated: batch {b.batch}, width {b.width}; {len(segments)} segments of {' '.join(sorted(steps))}"
                        f"; main: {' '.join(sorted(flags)) or 'calls'}")
    return declare(b, program)


def numbers(expect):
    for section in ("grads", "buffers", "cells"):
        for value in expect[section].values():
            if isinstance(value, dict):
                yield np.array(value["data"], dtype=np.float64)


def moved(program, rng):
    """The program with every float of its tensors changed in the seventh digit."""
    changed = json.loads(json.dumps(program))
    for section in ("inputs", "buffers", "cells"):
        for spec in changed.get(section, {}).values():
            if isinstance(spec, dict) and spec.get("dtype") != "i64":
                spec["data"] = [x * (1 + rng.uniform(-2e-7, 2e-7)) for x in spec["data"]]
    return changed


def accept(program, rng):
    """Sets `expect`, or says why the program is not kept."""
    made = oracle.Oracle(program)
    with np.errstate(all="ignore"):
        try:
            made.run()
        except oracle.ProgramError as error:
            return f"program error: {error}"
        expect = made.expect()
        if made.margin < MARGIN:
            return "near a tie"
        if any(not np.isfinite(a).all() or (np.abs(a) > 1e4).any() for a in numbers(expect)):
            return "not finite"
        if not any(np.abs(np.array(g["data"])).max() > 1e-4 for g in expect["grads"].values()):
            return "no gradient"
        for _ in range(2):
            other = oracle.Oracle(moved(program, rng)).run().expect()
            if any(a.shape != c.shape or (np.abs(a - c) > MOVED * (1 + np.abs(a))).any()
                   for a, c in zip(numbers(expect), numbers(other))):
                return "ill-conditioned"
    text = json.dumps(program)
    if made.rejectable or '"foreign"' in text:
        program["honour_or_reject"] = True
    program["expect"] = expect
    return None


def make(seed, at):
    names = sorted(CLASSES)
    cls = "RND" if at % 3 == 0 else names[(at - 1 - at // 3) % len(names)]
    for attempt in range(200):
        rng = random.Random(f"{seed}/{at}/{attempt}")
        program = build(rng, cls, f"g{at:05d}")
        if accept(program, rng) is None:
            return program
    raise SystemExit(f"generator: no valid program {at} of class {cls} under seed {seed}")


def main():
    folder, seed, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    wanted = sys.argv[4] if len(sys.argv) > 4 else None  # the name of one of them
    for at in range(1, count + 1):
        path = folder / f"g{at:05d}.json"
        if not path.exists() and wanted in (None, path.stem):
            text = json.dumps(make(seed, at), indent=1)
            path.with_suffix(".part").write_text(text + "\n")
            path.with_suffix(".part").rename(path)


if __name__ == "__main__":
    main()
