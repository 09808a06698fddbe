#!/usr/bin/env python3
"""Writes the programs of this folder that combine rules: two to four of them each, in ways that neither the public
programs nor the generator of tools/cohort has. What they expect is what the oracle there says, which shares no code
with the interpreter (and wants NumPy); every method gave the same bytes when they were added.
"""
import json
import os
import sys

from make import backward, call, leaf, op, read, tensor, write

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "cohort"))

import oracle  # noqa: E402

PROGRAMS = []
X = [0.3, 0.7, -0.4]


def program(name, about, main, **sections):
    made = {"format": "reprise-conformance/1", "name": name, "class": "RND", "about": about, "dtype": "f64", **sections,
            "main": main}
    made["expect"] = oracle.expectation(made)
    assert "error" not in made["expect"], name
    PROGRAMS.append(made)


def x(**more):
    return {"x": leaf(X), **more}


def b(**more):
    return {"B": tensor([1.0, 2.0, 3.0]), **more}


def zeros(count=3):
    return tensor([0.0] * count)


def ints(*numbers):
    return tensor(list(numbers), dtype="i64")


def w():
    return leaf([0.5, 0.6, 0.7], kind="param")


def segment(args, out, *body, **more):
    return {"args": args, "out": out, "body": list(body), **more}


def rows(which, wrap=False):
    return {"rows": which, **({"wrap": True} if wrap else {})}


def block(offset, shape, stride):
    return {"block": {"offset": offset, "shape": shape, "stride": stride}}


def draw(stream, shape, out):
    return {"do": "draw", "stream": stream, "shape": shape, "out": out}


def hook(of, out, *body):
    return {"do": "hook", "in": [of], "out": out, "body": list(body)}


def on_grad(of, *body):
    return {"do": "on_grad", "of": of, "body": list(body)}


def append(cell, value):
    return {"do": "append", "cell": cell, "value": value}


def bump(cell, by=1):
    return {"do": "bump", "cell": cell, "by": by}


def put(cell, value):
    return {"do": "set", "cell": cell, "value": value}


def choose(test, then, otherwise):
    return {"do": "if", "test": test, "then": then, "else": otherwise}


def product(names, out="y"):
    """Multiplies `names` into `out` one after the other."""
    first = op("mul", names[0], names[1], out=out)
    return [first] + [op("mul", out, name, out=out) for name in names[2:]]


# ---- what a name stands for

program(
    "shadowed_names", "a value of main, one of a segment and an argument each hide a buffer; each is written in place",
    [op("mul", "x", "B", out="u"), call("L", ["u"], ["u"]), call("A", ["u", "C"], ["u"]), read("B", "B"),
     call("S", ["u"], ["y"]), write("B", 5.0), call("L", ["y"], ["z"]), backward("z")],
    inputs=x(), buffers=b(C=tensor([-1.0, 0.5, 0.2])),
    segments={
        "S": segment(["h"], ["y"], op("mul", "h", "B", out="t"), write("B", 2.0, "mul"), op("sin", "t", out="t"),
                     op("mul", "t", "B", out="y")),
        "L": segment(["h"], ["y"], op("mul", "h", "B", out="t"), write("B", 1.0, "add"), read("B", "B"),
                     write("B", "h", "mul"), op("sin", "t", out="t"), op("mul", "t", "B", out="y")),
        "A": segment(["h", "B"], ["y"], op("mul", "h", "B", out="t"), write("B", "h", "add"), op("sin", "t", out="t"),
                     op("mul", "t", "B", out="y"), write("C", 0.5, "mul"))})

program(
    "captured_in_nested", "a nested segment writes a value of main in place, its caller writes rows of it, twice over",
    [op("exp", "x", out="m"), op("mul", "m", "x", out="e"), call("S", ["x"], ["y"]), call("S", ["y"], ["z"]),
     *product(["z", "m", "e"], "q"), backward("q", keep=True), write("m", 3.0), backward("q", "m")],
    inputs=x(), segments={
        "I": segment(["h"], ["o"], op("mul", "h", "m", out="o"), write("m", "o", "add"), op("sin", "o", out="o")),
        "S": segment(["h"], ["y"], op("mul", "h", "m", out="t"), call("I", ["t"], ["u"]), op("mul", "u", "m", out="y"),
                     write("m", 0.5, "mul", region=rows([1])))})

program(
    "one_object_returned", "a segment returns its argument, one value twice and a value of main; all are written after",
    [op("sin", "x", out="v"), op("cos", "x", out="m"), call("S", ["v"], ["a", "p", "q", "k"]), write("a", 2.0, "mul"),
     write("p", 0.3, "add"), write("k", 0.5, "mul"), *product(["p", "q", "v", "m"]), backward("y")],
    inputs=x(), segments={"S": segment(
        ["h"], ["h", "t", "t", "m"], op("cos", "h", out="t"), write("t", 1.0, "add"), write("h", "t", "mul"),
        write("m", "h", "add"))})

program(
    "two_names_of_a_param", "a param comes under two names, its rows are written under both, in nested calls",
    [call("S", ["x", "W", "W"], ["y"]), backward("y", keep=True), write("W", 9.0), backward("y")],
    inputs=x(W=w()), segments={
        "I": segment(["a", "b"], ["o"], op("mul", "a", "b", out="o"), write("b", 0.1, "add", region=rows([2, 0])),
                     op("mul", "o", "b", out="o"), op("sin", "o", out="o"),
                     write("b", 0.5, "mul", region={"span": [1, 3]})),
        "S": segment(["h", "p", "q"], ["y"], call("I", ["h", "p"], ["t"]), write("q", "p", "add"),
                     call("I", ["t", "q"], ["t"]), op("mul", "t", "p", out="y"))})

program(
    "number_argument", "a number comes as an argument, is written in place by a nested call and returned",
    [call("S", ["x", 2.0], ["y", "q", "r"]), write("q", 1.0, "add"), *product(["y", "q", "r"]),
     backward("y", keep=True),
     backward("y")],
    inputs=x(), segments={
        "I": segment(["a", "b"], ["b"], op("mean", "a", out="m"), write("b", "m", "mul"), write("a", "b", "mul")),
        "S": segment(["h", "k"], ["y", "k", "o"], op("sin", "h", out="h"), call("I", ["h", "k"], ["o"]),
                     op("mul", "h", "k", out="y"), write("k", 3.0, "add"), op("mul", "y", "k", out="y"))})

# ---- whose bytes

program(
    "results_own_bytes", "no op's result shares bytes with a buffer, a view or a value that is written after it",
    [op("reshape", "B", shape=[1, 3], out="s1"), op("stop", "B", out="s2"), op("concat", "B", out="s3"),
     op("cast", "B", to="f32", out="s4"), op("transpose", "R", out="s5"), op("sum", "R", axis=0, out="s6"),
     op("sin", "x", out="v"), op("reshape", "v", shape=[3, 1], out="r"), op("transpose", "r", out="t"),
     op("stop", "v", out="s"), hook("v", "h", append("log", "h")), op("fail", "v", out="g"), read("v", "d"),
     put("K", "v"),
     write("B", 7.0), write("v", 2.0, "mul"), write("r", 0.3, "add", region=rows([1])), write("h", 0.1, "add"),
     write("t", 0.2, "mul"), write("s1", 0.5, "add"), write("s2", 0.25, "add"),
     op("reshape", "r", shape=[3], out="r"), op("reshape", "t", shape=[3], out="t"),
     op("reshape", "s1", shape=[3], out="s1"), op("reshape", "s5", shape=[3], out="s5"),
     *product(["x", "v", "r", "t", "s", "h", "g", "d", "K", "s1", "s2", "s3", "s4", "s5", "s6"]), backward("y")],
    inputs=x(), buffers=b(), views={"R": {"of": "B", "region": block(0, [1, 3], [3, 1])}},
    cells={"log": [], "K": zeros()})

program(
    "constants_that_become_values", "a read, draws and a context are written in place with values that want gradients",
    [{"do": "context", "key": "g", "out": "k"}, read("B", "c"), op("mul", "x", "c", out="a"),
     call("S", ["c", "x"], ["y"]),
     write("B", 0.0), write("k", 0.5, "add"), call("D", ["y"], ["u"]), *product(["y", "c", "a", "u", "k"], "z"),
     backward("z", keep=True), backward("u", "u")],
    inputs=x(), buffers=b(), contexts={"g": 2.0},
    streams={"r": {"seed": 18446744073709551615, "id": 18446744073709551615, "kind": "default"}},
    segments={"S": segment(["c", "h"], ["y"], op("sin", "c", out="y"), write("c", "h", "mul"),
                           op("mul", "y", "c", out="y")),
              "D": segment(["h"], ["u"], draw("r", [], "s"), draw("r", [3], "u"), draw("r", [0], "n"),
                           write("u", "h", "mul"), write("u", "s", "add"))})

program(
    "strange_views", "views that overlap themselves, repeat one element, run backwards, are scalar or empty",
    [call("S", ["x"], ["y"]), write("B", 0.0), backward("y")],
    inputs=x(), buffers={"B": tensor([1.0, 2.0, 3.0, 4.0, 5.0])},
    views={"H": {"of": "B", "region": block(0, [3, 3], [1, 1])}, "Z": {"of": "B", "region": block(1, [3], [0])},
           "N": {"of": "B", "region": block(4, [3], [-2])}, "s": {"of": "B", "region": block(3, [], [])},
           "E": {"of": "B", "region": block(0, [0, 3], [1, 1])}},
    segments={"S": segment(
        ["h"], ["y"], op("matmul", "H", "H", out="m"), op("mul", "h", "m", out="t"), op("mul", "t", "Z", out="t"),
        op("sin", "t", out="t"), write("s", 0.5), op("mul", "t", "N", out="t"), op("mul", "t", "s", out="t"),
        write("N", 0.1, "add", region=rows([1])), read("H", "r", region=rows([2, 0, 2])), op("mul", "t", "r", out="t"),
        op("sum", "E", out="e"), op("add", "t", "e", out="t"), read("B", "q", region=block(4, [3], [-1])),
        op("mul", "t", "q", out="y"))})

program(
    "overlapping_write", "a buffer is assigned its own bytes backwards, and a span of it the next one",
    [call("S", ["x"], ["y"]), backward("y")],
    inputs=x(), buffers=b(),
    views={"V": {"of": "B", "region": block(2, [3], [-1])}, "U": {"of": "B", "region": {"span": [1, 3]}}},
    segments={"S": segment(
        ["h"], ["y"], op("mul", "h", "V", out="t"), write("B", "V"), op("mul", "t", "B", out="t"),
        write("V", "B", "add"),
        op("mul", "t", "V", out="t"), write("B", "U", "add", region={"span": [0, 2]}), op("mul", "t", "B", out="y"))})

program(
    "zero_rows", "a leaf without elements, and rows, spans, gathers and matrices of nothing",
    [call("S", ["x", "E"], ["y", "q"]), op("matmul", "P", "Q", out="c"), op("add", "c", "x", out="c"),
     op("mul", "c", "c", out="c"), backward("y", "q", "c")],
    inputs=x(E=leaf([], [0, 3]), P=leaf([], [3, 0]), Q=leaf([], [0, 3], "param")), buffers=b(i=ints()),
    segments={"S": segment(
        ["h", "e"], ["y", "q"], op("mul", "e", "h", out="q"), read("B", "n", region={"span": [2, 2]}),
        read("B", "n", region=rows([])), write("B", 5.0, region=rows([])), write("B", 4.0, "mul", region=rows("i")),
        write("B", 1.0, "add", region={"span": [1, 1]}), op("gather", "h", "i", out="g"), op("sum", "g", out="g"),
        op("sum", "q", axis=0, out="s"), op("add", "h", "g", out="y"), op("add", "y", "s", out="y"),
        op("mul", "y", "B", out="y"), write("B", 0.0))})

program(
    "concat_of_many", "more inputs than a node has operands, of values and of integers; the buffer among them moves on",
    [op("concat", *["x"] * 130, "B", out="c"), op("mul", "c", "c", out="y"), write("B", 0.0),
     op("concat", *["i"] * 70, out="j"), op("gather", "x", "j", out="g"), backward("y", "g")],
    inputs=x(), buffers=b(i=ints(1, 2)))

# ---- cells and decisions

program(
    "cells_by_reference",
    "number, tensor and list cells come as arguments: tested, bumped, set and read under both names",
    [call("S", ["x", "n", "K", "log"], ["y"]), call("S", ["y", "m", "J", "log"], ["z"]), put("K", 9.0), put("n", 100),
     backward("z")],
    inputs=x(), cells={"n": 3, "m": 4, "K": tensor([1.0, 2.0, 3.0]), "J": tensor([2.0, 1.0, 0.5]), "log": []},
    segments={"S": segment(
        ["h", "c", "k", "l"], ["y"],
        choose(["mod", "c", 2, 1], [op("mul", "h", "k", out="t")], [op("add", "h", "k", out="t")]), bump("c", 2.5),
        op("mul", "t", "c", out="t"), put("k", "t"), append("l", "word"), append("l", 1.5), op("sin", "t", out="t"),
        op("mul", "t", "k", out="y"), put("c", 7), choose(["lt", "c", 7], [], [append("l", "no")]))})

program(
    "cell_that_grows_and_shrinks",
    "a nested segment lets a cell without rows grow, its caller rebinds it to wrapped rows",
    [call("S", ["x"], ["a"]), call("S", ["a"], ["c"]), call("S", ["x"], ["d"]), *product(["a", "c", "d"], "z"),
     put("G", 0.0),
     backward("z")],
    inputs=x(), cells={"G": tensor([], [0, 3])}, segments={
        "I": segment(["h"], [], op("stop", "h", out="k"), op("reshape", "k", shape=[1, 3], out="k"),
                     op("concat", "G", "k", out="g"), put("G", "g")),
        "S": segment(["h"], ["y"], call("I", ["h"], []), op("sum", "G", axis=0, out="s"), op("mul", "h", "s", out="t"),
                     op("sin", "t", out="y"), read("G", "r", region=rows([-1, 5], True)), op("mul", "r", 2.0, out="r"),
                     put("G", "r"))})

program(
    "decisions_returned",
    "a segment returns a read, an index and draws; the index is used and the read overwritten outside",
    [call("S", ["x"], ["c", "i", "u"]), write("B", 0.0), op("gather", "x", "i", out="g"), *product(["g", "c", "u"]),
     write("c", 7.0), call("S", ["x"], ["c2", "i2", "u2"]), write("p", "i2"), op("mul", "y", "c2", out="z"),
     backward("z")],
    inputs=x(), buffers=b(p=ints(0)), streams={"r": {"seed": 5, "kind": "named"}},
    segments={"S": segment(["h"], ["c", "i", "u"], read("B", "c"), op("unsteady", "h", "B", out="k"),
                           op("argmax", "k", out="j"), op("add", "j", 0, out="i"), write("B", 1.0, "add"),
                           draw("r", [3], "u"))})

program(
    "integer_state",
    "wrapped indices, exact large integers, quotients and comparisons of an integer buffer that moves on",
    [call("S", ["x"], ["y"]), write("n", 0), backward("y")],
    inputs=x(), cells={"k": 2},
    buffers={"n": ints(2, 5, -7), "a": ints(0, 0, 0), "q": zeros(), "c": ints(0, 0, 0),
             "large": ints(9007199254740993, -9007199254740993, 1)},
    segments={"S": segment(
        ["h"], ["y"], op("mul", "n", "k", out="p"), op("add", "p", 1, out="p"), op("mod", "p", 3, out="i"),
        write("a", "i"),
        op("gather", "h", "i", out="g"), op("div", "n", 2, out="d"), write("q", "d"), op("mul", "g", "d", out="t"),
        op("sub", "large", "n", out="e"), write("c", "e"), write("n", 3, "mul", region=rows([2, 0])),
        op("sum", "n", out="s"), op("mul", "t", "s", out="t"), op("cast", "t", to="i64", out="u"),
        op("mul", "t", "u", out="y"), op("less", "n", 1, out="l"), op("mul", "y", "l", out="y"),
        op("neg", "n", out="m"),
        op("abs", "m", out="m"), write("n", "m"))})

program(
    "decisions_pass_nothing",
    "a condition and an index that depend on leaves: no gradient passes, so no hook and no body runs",
    [hook("x", "h", append("log", "h")), on_grad("W", bump("n")), op("where", "h", "z", 2.0, out="a"),
     op("gather", "z", "W", out="g"), op("mul", "a", "g", out="y"), backward("y", keep=True),
     op("where", "h", "h", "z", out="c"), backward("c")],
    inputs={"x": leaf([0.3, 0.0, 0.5]), "z": leaf([1.0, 2.0, 3.0]), "W": leaf([0.0, 2.0, 1.0], kind="param")},
    cells={"log": [], "n": 0})

# ---- bodies, failures, iterations

program(
    "hook_reads_locals",
    "a hook in a segment reads what its segment read, drew and computed, and writes what replays read",
    [call("S", ["x"], ["y"]), write("B", 0.0), call("S", ["y"], ["z"]), backward("z")],
    inputs=x(), buffers=b(L=zeros(), M=zeros()), streams={"r": {"seed": 5, "kind": "default"}},
    segments={"S": segment(
        ["h"], ["y"], read("B", "c"), draw("r", [3], "u"), op("mul", "h", "c", out="t"),
        hook("t", "k", write("L", "c", "add"), op("mul", "u", 2.0, out="w"), write("M", "w", "add"),
             write("B", "t", "add"),
             write("L", "h", "add")),
        write("B", 1.0, "add"), op("sin", "k", out="y"), op("mul", "y", "c", out="y"))})

program(
    "bodies_write_values",
    "a hook and a leaf's body write values in place: replays see the old bytes, later backwards pass",
    [op("sin", "x", out="v"), op("cos", "x", out="m"), on_grad("W", write("m", 0.5, "mul"), write("m", "u", "add")),
     read("B", "u"), call("S", ["v"], ["y"]), hook("y", "h", write("v", 2.0, "mul"), write("u", 5.0)),
     *product(["h", "m", "W"], "z"), backward("z", keep=True), {"do": "grad", "of": "x", "out": "g", "clear": True},
     write("L", "g"), call("S", ["v"], ["q"]), *product(["q", "m", "u"], "q"), backward("q")],
    inputs=x(W=w()), buffers=b(L=zeros()),
    segments={"S": segment(["h"], ["y"], op("mul", "h", "B", out="t"), op("sin", "t", out="t"),
                           op("mul", "t", "h", out="y"),
                           write("B", 1.0, "add"))})

program(
    "many_failures",
    "failures in nested segments of two instances, hooks above and inside them, two backwards with retries",
    [on_grad("W", bump("n"), append("log", "W")), call("S", ["x"], ["a"]), call("S", ["a"], ["c"]),
     hook("c", "d", append("log", "top"), write("B", 0.5, "add")), backward("d", keep=True, retries=20),
     write("W", 2.0),
     write("B", 7.0), backward("d", retries=20)],
    inputs=x(W=w()), buffers=b(), cells={"n": 0, "log": []}, streams={"r": {"seed": 3, "kind": "default"}},
    segments={
        "I": segment(["h"], ["o"], draw("r", [3], "u"), op("mul", "h", "u", out="o"), op("fail", "o", out="o"),
                     op("sin", "o", out="o"), hook("o", "o", bump("n", 10), write("W", 1.0, "add"))),
        "S": segment(["h"], ["y"], op("mul", "h", "W", out="t"), call("I", ["t"], ["t"]), op("fail", "t", out="t"),
                     call("I", ["t"], ["t"]), op("mul", "t", "B", out="y"), write("B", 1.0, "add"))})


def iteration(i):
    start = "x" if i == 0 else f"y{i - 1}"
    return [call("S", [start], [f"y{i}"]), hook(f"y{i}", "h", append("log", i), write("B", 0.1, "add")), backward("h"),
            {"do": "grad", "of": "W", "out": "g", "clear": True}, op("mul", "g", -0.1, out="g"), write("W", "g", "add")]


program(
    "handles_over_iterations",
    "each iteration starts from the last one's result: backwards without keep pass through all",
    [s for i in range(3) for s in iteration(i)],
    inputs=x(W=w()), buffers=b(), cells={"log": []},
    segments={"S": segment(["h"], ["y"], op("mul", "h", "W", out="t"), hook("t", "t", append("log", "in")),
                           op("mul", "t", "B", out="t"), op("sin", "t", out="y"), write("B", 0.2, "add"))})

program(
    "transposed_views_write_each_other",
    "a matrix and its transpose under another name: rows of one are written, each is multiplied by the other",
    [call("S", ["x"], ["y"]), write("M", "Mt", "add"), write("Mt", "M"), backward("y")],
    inputs={"x": leaf([0.3, -0.7, 1.1, 0.4, 0.9, -0.2], [2, 3])},
    buffers={"M": tensor([0.2, -0.4, 0.5, 0.9, -0.1, 0.3, 0.7, 0.6, -0.8], [3, 3])},
    views={"Mt": {"of": "M", "region": block(0, [3, 3], [1, 3])}},
    segments={"S": segment(["x"], ["y"], op("matmul", "x", "Mt", out="a"), op("sin", "a", out="a"),
                           write("Mt", 2.0, region=rows([1])), op("matmul", "a", "M", out="b"), write("M", "Mt", "mul"),
                           op("matmul", "b", "Mt", out="y"))})

program(
    "value_rows_from_itself",
    "rows of a value are written with rows gathered from it, and a value with itself, between ops that save it",
    [call("S", ["x"], ["y"]), write("y", "y", "mul"), op("sin", "y", out="z"), write("y", 0.0), backward("z")],
    inputs={"x": leaf([0.3, -0.7, 1.1, 0.4, 0.9, -0.2], [3, 2])}, buffers={"i": ints(1, 1)},
    segments={"S": segment(["x"], ["y"], op("sin", "x", out="a"), op("gather", "a", "i", out="g"),
                           write("a", "g", "mul", region=rows([0, 2])), op("exp", "a", out="e"),
                           write("e", "a", "add", region=rows([0, 1, 2])), write("e", 0.0, region=rows([1])),
                           write("a", "a", "add"), op("mul", "e", "a", out="y"))})

program(
    "bodies_write_what_was_saved",
    "a body overwrites values that formulas below it have saved; later backwards pass through its writes",
    [op("sin", "x", out="a"), call("S", ["a"], ["b", "c"]), op("mul", "b", "c", out="d"),
     hook("d", "e", write("a", 5.0), write("b", 3.0, "mul"), write("c", 7.0, region=rows([0])), write("d", 0.0)),
     op("mul", "e", "d", out="f"), backward("f", keep=True), op("mul", "a", "b", out="g"), backward("g", keep=True),
     backward("f")],
    inputs=x(),
    segments={"S": segment(["a"], ["b", "c"], op("exp", "a", out="b"), op("tanh", "b", out="c"),
                           op("mul", "c", "a", out="c"))})

program(
    "integers_choose_the_rows",
    "a pointer and offsets choose rows that are read and written, whole numbers above 2^53 are counted exactly",
    [call("S", ["x"], ["y"]), call("S", ["y"], ["z"]), write("p", 0), backward("z")],
    inputs={"x": leaf([0.3, -0.7, 1.1, 0.4], [2, 2])},
    buffers={"p": ints(3), "off": ints(0, 1), "cnt": ints(0, 0, 0, 0), "big": ints(9007199254740993, 1),
             "M": tensor([0.2, -0.4, 0.5, 0.9, -0.1, 0.3, 0.7, 0.6], [4, 2])},
    segments={"S": segment(
        ["x"], ["y"], op("add", "p", "off", out="q"), op("mod", "q", 4, out="q"), read("M", "m", region=rows("q")),
        op("mul", "x", "m", out="t"), op("sin", "t", out="y"), write("M", "y", region=rows("q")),
        write("cnt", 1, "add", region=rows("q")), op("add", "p", 3, out="p2"), op("mod", "p2", 5, out="p2"),
        write("p", "p2"), op("gather", "cnt", "q", out="c"), op("add", "c", 1, out="c"),
        op("reshape", "c", shape=[2, 1], out="c"), op("mul", "y", "c", out="y"), write("big", 2, "add"),
        write("big", 3, "mul", region=rows([1])))})


def main():
    for made in PROGRAMS:
        with open(os.path.join(HERE, made["name"] + ".json"), "w", encoding="utf-8") as file:
            file.write(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
