"""One process of a runner: `worker.py MODE LIST OUT` runs the programs whose paths LIST holds, one record a line to OUT.

A line "begin NAME" goes to the standard output before each program, so that the driver knows what a dead or stuck
process was doing.
"""
import hashlib
import importlib
import json
import sys
import time
import warnings

import language
import verdict

RUNNERS = {"torch": "torch_runner", "jax": "jax_runner"}
VALUES = ("grads", "buffers", "streams", "cells")


def print_of(program):
    """Tells a program from another of its name, such as what the generator made before the oracle was mended."""
    return hashlib.sha256(json.dumps(program, sort_keys=True).encode()).hexdigest()[:16]


def record(program, mode, result, seconds):
    """The line of a record; `result` is what a runner gave, or {"error"}, {"unsupported"} or {"crash"}."""
    said, detail = verdict.judge(program, result)
    line = {"id": f"{program['name']}@{mode}", "program": program["name"], "class": program["class"], "mode": mode,
            "of": print_of(program), "verdict": said, "detail": detail, "seconds": round(seconds, 4)}
    if "graphs" in result:
        line["graphs"] = result["graphs"]
    return line | {key: result.get(key, {}) for key in VALUES}


def append(path, records):
    """Adds lines. Each is one write to the end of the file, so that processes that share it never mix their lines."""
    with open(path, "ab", buffering=0) as file:
        for one in records:
            file.write((json.dumps(one) + "\n").encode())


def run_one(runner, program, mode):
    try:
        return runner.run(program, mode)
    except language.Unsupported as error:
        return {"unsupported": str(error)}
    except Exception as error:  # whatever the framework says is a rejection
        return {"error": language.on_one_line(error)}


def main():
    mode, listing, out = sys.argv[1:4]
    warnings.filterwarnings("ignore")
    runner = importlib.import_module(RUNNERS[mode.split("_")[0]])
    runner.prepare()
    with open(listing, encoding="utf-8") as file:
        paths = file.read().split("\n")
    for path in filter(None, paths):
        program = language.load(path)
        print("begin", program["name"], flush=True)
        start = time.perf_counter()
        result = run_one(runner, program, mode)
        append(out, [record(program, mode, result, time.perf_counter() - start)])


if __name__ == "__main__":
    main()
