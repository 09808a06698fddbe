#!/usr/bin/env python3
"""Writes the programs of this folder that stand on single sentences of the language, seldom tried: what a number is as
an operand, numbers without any element, roots given twice, a block that overlaps itself, names that a body binds.
What they expect is what the oracle of tools/cohort says, as in combine.py.
"""
import json
import os

import combine
from combine import append, b, block, hook, on_grad, ints, program, put, segment, x, zeros
from make import backward, call, leaf, op, read, tensor, write

EARLIER = len(combine.PROGRAMS)

program(
    "whole_numbers_are_floats",
    "a number, a number cell and a list cell are of the float type though they be whole: fractions stay when written",
    [hook("n", "a"), write("a", 0.5), op("stop", 3, out="c"), write("c", 0.5, "mul"), read("n", "d"),
     write("d", 0.25, "add"), read("l", "e"), write("e", 0.5, "mul"), call("S", ["x", 2], ["y", "k"]),
     *combine.product(["y", "a", "c", "d", "e", "k"], "z"), put("n", 7), write("M", "e"), write("i", "e"),
     backward("z")],
    inputs=x(), buffers={"M": zeros(), "i": ints(0, 0, 0)}, cells={"n": 1, "l": [1, 2, 3]},
    segments={"S": segment(["h", "k"], ["y", "k"], op("mul", "h", "k", out="y"), write("k", 0.75),
                           op("sin", "y", out="y"))})

program(
    "nothing_to_normalise", "rows without a column are normalised: what comes out is as empty, and so is its gradient",
    [call("S", ["e"], ["y"]), backward("y")],
    inputs=x(e=leaf([], [3, 0])),
    segments={"S": segment(["e"], ["y"], op("layernorm", "e", out="a"), op("softmax", "a", out="c"),
                           op("batchnorm", "c", out="c"), op("sum", "c", axis=1, out="s"), op("sin", "x", out="q"),
                           op("add", "q", "s", out="y"))})

program(
    "roots_given_twice", "a root counts as often as it is given, with another above it, and hooks run once",
    [call("S", ["x"], ["y"]), call("S", ["y"], ["z"]), hook("z", "h", append("log", "h")),
     backward("y", "h", "y", "h", keep=True), write("B", 0.0), backward("h", "y", "x")],
    inputs=x(), buffers=b(), cells={"log": []},
    segments={"S": segment(["h"], ["y"], op("mul", "h", "B", out="t"), op("sin", "t", out="y"),
                           write("B", 1.0, "add"))})

program(
    "number_over_overlapping_block", "one number is assigned to blocks that overlap themselves, between two live reads",
    [call("S", ["x"], ["y"]), write("B", 0.0), backward("y")],
    inputs={"x": leaf([0.1, 0.2, 0.3, 0.4, 0.5])}, buffers={"B": tensor([1.0, 2.0, 3.0, 4.0, 5.0])},
    segments={"S": segment(["h"], ["y"], op("mul", "h", "B", out="t"), op("sin", "t", out="t"),
                           write("B", 5.0, region=block(0, [2, 2], [1, 1])),
                           write("B", 0.25, region=block(4, [3], [0])), op("mul", "t", "B", out="y"))})

program(
    "names_that_a_body_binds", "what a body binds in main is there afterwards; a leaf's later body runs from then on",
    [op("mul", "x", 2.0, out="t"), hook("t", "h", read("B", "q"), op("mul", "q", 2.0, out="r"), write("B", 1.0, "add")),
     backward("h"), on_grad("x", append("log", "x"), write("q", 3.0, "mul")), op("mul", "r", "x", out="y"),
     write("q", "B", "add"), op("mul", "y", "q", out="y"), backward("y"), write("B", "q")],
    inputs=x(), buffers=b(), cells={"log": []})

program(
    "c16_value_with_a_derivative", "a value is overwritten past the framework, and differentiated: right, or refused",
    [op("sin", "x", out="v"), read("B", "c"), write("v", "c", foreign=True), write("c", "x", foreign=True),
     op("mul", "v", "c", out="y"), backward("y")],
    inputs=x(), buffers=b())
combine.PROGRAMS[-1] |= {"class": "C16", "honour_or_reject": True}


def main():
    for made in combine.PROGRAMS[EARLIER:]:
        with open(os.path.join(combine.HERE, made["name"] + ".json"), "w", encoding="utf-8") as file:
            file.write(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
