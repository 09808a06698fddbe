"""`tools/cohort/run --self-check`: is the yardstick straight? No runner and no framework takes part, only NumPy.

The oracle must reproduce the `expect` of every public program to 1e-8; its complex-step gradients must agree with central
differences of the same frozen trace; its streams must give the published vectors of Philox; the generator must make
the same programs from the same seed; verdicts must fall as the rules say, those of the committed records from their
values too; and what was done of a program that is another now must be done again.
"""
import json
import lzma
import sys
import tempfile
from pathlib import Path

import numpy as np

import generator
import oracle
import schedule
import verdict
import worker
from oracle_ops import philox


def check_public(folder):
    paths = sorted(folder.glob("*.json"))
    wrong = []
    for path in paths:
        program = oracle.load(path)
        made = oracle.expectation(program)
        if made.get("error") != program["expect"].get("error"):
            wrong.append(f"{path.name}: error {made.get('error')}")
        elif not made.get("error"):
            said, detail = verdict.judge({**program, "dtype": "f64"}, made)
            wrong += [] if said == "match" else [f"{path.name}: {detail}"]
    return f"{len(paths)} public programs", wrong if paths else ["none found"]


class Differences(oracle.Oracle):
    """The oracle with central differences in place of complex steps."""

    step = 1e-6

    def derivative(self, leaf, roots):
        exact = super().derivative(leaf, roots)
        order = [n for n in range(len(self.trace)) if leaf in self.node_deps[n]]
        nodes = [r.node for r in roots if r.node is not None and leaf in r.deps]
        near = np.zeros(exact.size)
        for element in range(exact.size):
            up, down = (self.evaluate(order, leaf, element, step) for step in (self.step, -self.step))
            near[element] = sum((up[n] - down[n]).sum() for n in nodes) / (2 * self.step)
        self.worst = max(getattr(self, "worst", 0.0), float((np.abs(near - exact.reshape(-1)) / (1 + np.abs(near))).max()))
        return exact


def check_differences(count=24):
    wrong, worst = [], 0.0
    for at in range(1, count + 1):
        program = generator.make(77, at)
        with np.errstate(all="ignore"):
            made = Differences(program).run()
        smooth = not any(f'"{op}"' in json.dumps(program) for op in ("cast", "round"))
        if smooth and made.worst > 1e-6:
            wrong.append(f"generated {at}: gap {made.worst:.1e}")
        worst = max(worst, made.worst if smooth else 0)
    return f"{count} generated programs against central differences (worst gap {worst:.1e})", wrong


def check_streams():
    wrong = []
    for seed, stream, at, want in ((7, 0, 0, [0.95459712, 0.75015217, 0.11417735, 0.08565784, 0.40696037, 0.79528403]),
                                   (2 ** 32 + 5, 3, 2, [0.39425069, 0.06023204, 0.28003716])):
        got = philox(seed, stream, at, len(want))
        wrong += [] if np.allclose(got, want, atol=5e-9, rtol=0) else [f"stream {seed}/{stream}: {got}"]
    return "streams", wrong


def check_generator():
    same = json.dumps(generator.make(5, 4)) == json.dumps(generator.make(5, 4))
    other = json.dumps(generator.make(6, 4)) != json.dumps(generator.make(5, 4))
    return "the generator repeats itself", [] if same and other else ["the same seed gave another program, or another the same"]


def check_verdicts():
    tensor = lambda x: {"shape": [1], "data": [x]}
    program = {"expect": {"grads": {"x": tensor(1.0)}, "buffers": {"B": tensor(2.0)}, "streams": {"r": 3},
                          "cells": {"log": ["a"]}, "max_replays": {"S": 1}}}
    right = {"grads": {"x": tensor(1.0001)}, "buffers": {"B": tensor(2.0)}, "streams": {"r": 3}, "cells": {"log": ["a"]}}
    cases = [({}, "match"), ({"grads": {"x": tensor(1.01)}}, "silent"), ({"grads": {}}, "silent"),
             ({"grads": {"x": tensor(float("nan"))}}, "silent"), ({"buffers": {"B": tensor(3.0)}}, "state"),
             ({"streams": {"r": 4}}, "state"), ({"cells": {"log": ["a", "a"]}}, "state"), ({"replays": {"S": 2}}, "state"),
             ({"error": "no"}, "reject_needless"), ({"unsupported": "no", "error": "no"}, "unsupported"),
             ({"crash": "no"}, "crash")]
    wrong = [f"{change}: {verdict.judge(program, right | change)[0]}" for change, want in cases
             if verdict.judge(program, right | change)[0] != want]
    if verdict.judge({**program, "honour_or_reject": True}, {"error": "no"})[0] != "reject_allowed":
        wrong.append("an allowed rejection")
    return "verdicts", wrong


def check_records():
    """The committed records: what each program expects is what the oracle says now, and each verdict what its values say."""
    folder = Path(__file__).resolve().parents[2] / "configs/studies/records/cohort"
    lines = lambda name: map(json.loads, lzma.open(folder / name, "rt"))
    programs = {line["name"]: line["program"] for line in lines("programs.jsonl.xz")}
    wrong, count = [], 0
    for name, program in programs.items():
        with np.errstate(all="ignore"):
            made = oracle.expectation(program)
        said, detail = ("match", "") if made.get("error") else verdict.judge({**program, "dtype": "f64"}, made)
        if said != "match" or made.get("error") != program["expect"].get("error"):
            wrong.append(f"{name}: the oracle expects {made.get('error') or detail}")
    for mode in json.loads((folder / "manifest.json").read_text())["modes"]:
        for record in lines(mode["file"]):
            count += 1
            said = record["verdict"]
            why = {said: record["detail"]} if said in ("unsupported", "crash") else {}
            why = {"error": record["detail"]} if said.startswith("reject") else why
            again, detail = verdict.judge(programs[record["program"]], record | why)
            counted = said == "state" and " replays of one instance" in record["detail"]  # how often is not recorded
            wrong += [] if again == said or counted else [f"{record['id']}: {said}, but its values say {again}: {detail}"]
    return f"{count} committed records of {len(programs)} programs", wrong


def check_resuming():
    """A record counts as done while its program is what it was; an unfinished line never does."""
    program = {"format": "reprise-conformance/1", "name": "p", "class": "C01", "main": [], "expect": {"grads": {}}}
    mode, wrong = schedule.MODES["torch_eager"], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.json"
        path.write_text(json.dumps(program))
        runner = schedule.Schedule(None, None, Path(folder), {"p": path})
        part = runner.parts / "torch_eager.jsonl"
        made = worker.record(program, mode.name, {"error": "no"}, 0)
        other = made | {"of": worker.print_of(program | {"main": [1]})}
        old = {key: value for key, value in made.items() if key != "of"}
        for line, done in ((json.dumps(made) + "\n", True), (json.dumps(old) + "\n", True),
                           (json.dumps(other) + "\n", False), (json.dumps(made)[:-1], False)):
            part.write_text(line)
            wrong += [] if runner.done(mode) == ({"p"} if done else set()) else [f"done is not {done}: {line[:90]}"]
            wrong += [] if bool(part.read_text()) == done else [f"the file keeps what is dropped: {line[:90]}"]
        good = json.dumps(made) + "\n"
        changes = ({"mode": "jax_ref"}, {"id": "q@torch_eager"}, {"verdict": "fine"}, {"cells": None})
        for bad in ("{}", "[]", good[:40], *[json.dumps(made | change) for change in changes]):
            part.write_text(good + bad + "\n")
            wrong += refused_at(lambda: runner.done(mode), f"{part}:2: expected ", bad)
            wrong += [] if part.read_text() == good + bad + "\n" else [f"the file was changed: {bad[:90]}"]
    return "resuming", wrong


def refused_at(work, place, what):
    try:
        work()
    except SystemExit as error:
        return [] if place in str(error) else [f"{error} instead of {place}"]
    return [f"taken for a record: {what[:90]}"]


def main():
    failed = 0
    for check in (lambda: check_public(Path(sys.argv[1])), check_differences, check_streams, check_generator, check_verdicts,
                  check_records, check_resuming):
        what, wrong = check()
        print(f"{'ok   ' if not wrong else 'WRONG'} {what}")
        for line in wrong[:10]:
            print(f"      {line}")
        failed += bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
