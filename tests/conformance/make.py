#!/usr/bin/env python3
"""Writes most of the conformance programs of this folder, and their expected results; combine.py and corners.py write
the others.

Each program stands beside a second formulation of itself: a plain function of its inputs in which every byte of state is
written out as the number that it was when it was read. Gradients are complex-step derivatives of that function
(Squire and Trapp, 1998), states are stated. Nothing here shares code with the interpreter.

Run it to write the files again; the test compares the framework with the files.
"""
import cmath
import json
import os

PROGRAMS = []


def grad(f, **inputs):
    """Gradient of Re f at real inputs (lists), by complex steps."""
    result = {}
    for name, data in inputs.items():
        result[name] = []
        for i in range(len(data)):
            moved = {n: [complex(v) for v in d] for n, d in inputs.items()}
            moved[name][i] += 1e-30j
            result[name].append(complex(f(**moved)).imag / 1e-30)
    return result


def tensor(data, shape=None, dtype=None):
    out = {"shape": [len(data)] if shape is None else shape, "data": list(data)}
    if dtype:
        out["dtype"] = dtype
    return out


def leaf(data, shape=None, kind="leaf"):
    return {"kind": kind, **tensor(data, shape)}


def op(name, *ins, out, **attrs):
    return {"do": name, "in": list(ins), "out": out, **attrs}


def read(of, out, **more):
    return {"do": "read", "of": of, "out": out, **more}


def write(to, value, mode="assign", **more):
    return {"do": "write", "to": to, "value": value, "mode": mode, **more}


def call(seg, ins, outs):
    return {"do": "call", "seg": seg, "in": ins, "out": outs}


def backward(*of, **more):
    return {"do": "backward", "of": list(of), **more}


def program(name, about, main, grads=None, error=False, dtype="f64", buffers_after=None, streams_after=None,
            cells_after=None, max_replays=None, **sections):
    expect = {}
    if error:
        expect["error"] = "program"
    else:
        expect["grads"] = {n: tensor(g, sections["inputs"][n]["shape"]) for n, g in (grads or {}).items()}
        expect["buffers"] = buffers_after or {}
        expect["streams"] = streams_after or {}
        expect["cells"] = cells_after or {}
    if max_replays:
        expect["max_replays"] = max_replays
    PROGRAMS.append({"format": "reprise-conformance/1", "name": name, "class": "RND", "about": about, "dtype": dtype,
                     **sections, "main": main, "expect": expect})


sin, cos, exp, tanh, sqrt = cmath.sin, cmath.cos, cmath.exp, cmath.tanh, cmath.sqrt

# ---- rows: wrap, negative indices, refusals

program(
    "wrap_rows", "rows taken modulo the number of rows, negative ones too; the list is a buffer that moves on",
    inputs={"x": leaf([0.3, 0.7], [2, 1])},
    buffers={"B": tensor([1.0, 2.0, 3.0], [3, 1]), "p": tensor([4, -1], dtype="i64")},
    segments={"S": {"args": ["x"], "out": ["y"], "body": [
        read("B", "c", region={"rows": "p", "wrap": True}), op("mul", "x", "c", out="t"), op("sin", "t", out="y"),
        write("B", 10.0, "add", region={"rows": "p", "wrap": True}), write("p", 1, "add")]}},
    main=[call("S", ["x"], ["y"]), write("B", -1.0, "mul"), backward("y")],
    grads=grad(lambda x: sin(x[0] * 2) + sin(x[1] * 3), x=[0.3, 0.7]),
    buffers_after={"B": tensor([-1.0, -12.0, -13.0], [3, 1]), "p": tensor([5, 0], dtype="i64")})

program("wrap_duplicates", "two indices of a write that wrap to one row are refused", error=True,
        inputs={"x": leaf([1.0])}, buffers={"B": tensor([1.0, 2.0, 3.0], [3, 1])}, segments={},
        main=[write("B", 1.0, region={"rows": [0, 3], "wrap": True}), op("sin", "x", out="y"), backward("y")])

program("row_below", "a negative row without wrap is refused in the forward, inside a segment", error=True,
        inputs={"x": leaf([1.0])}, buffers={"B": tensor([1.0, 2.0], [2, 1])},
        segments={"S": {"args": ["x"], "out": ["y"], "body": [
            read("B", "c", region={"rows": [-1]}), op("mul", "x", "c", out="y")]}},
        main=[call("S", ["x"], ["y"]), backward("y")])

program("gather_outside", "gather refuses an index outside", error=True,
        inputs={"T": leaf([1.0, 2.0], [2, 1])}, buffers={"i": tensor([0, 2], dtype="i64")}, segments={},
        main=[op("gather", "T", "i", out="y"), backward("y")])

program(
    "gather_duplicates", "duplicates add up; the table is a param that is overwritten row by row afterwards",
    inputs={"T": leaf([0.2, 0.5, -0.3], [3, 1], "param")}, buffers={"i": tensor([2, 0, 2, 2], dtype="i64")},
    segments={"S": {"args": [], "out": ["y"], "body": [
        op("gather", "T", "i", out="g"), op("sin", "g", out="s"), op("mul", "s", "g", out="y")]}},
    main=[call("S", [], ["y"]), write("T", 7.0, region={"rows": [2]}), write("i", 0), backward("y")],
    grads=grad(lambda T: sum(sin(T[r]) * T[r] for r in (2, 0, 2, 2)), T=[0.2, 0.5, -0.3]),
    buffers_after={"T": tensor([0.2, 0.5, 7.0], [3, 1]), "i": tensor([0, 0, 0, 0], dtype="i64")})

# ---- views, spans and strided blocks

program(
    "block_of_param", "a strided block of a param is added to between its reads; gradients are those of each read",
    inputs={"W": leaf([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [2, 3], "param"), "x": leaf([0.9, -0.4, 0.3], [3])},
    segments={"S": {"args": ["x"], "out": ["y"], "body": [
        op("mul", "W", "x", out="a"), op("sin", "a", out="a"),
        write("W", 2.0, "add", region={"block": {"offset": 1, "shape": [2, 2], "stride": [3, 1]}}),
        op("mul", "W", "a", out="y"),
        write("W", 0.5, "mul", region={"block": {"offset": 5, "shape": [2], "stride": [-5]}})]}},
    main=[call("S", ["x"], ["y"]), write("W", 1.0), backward("y")],
    grads=grad(lambda W, x: sum(sin(W[3 * i + j] * x[j]) * (W[3 * i + j] + (2 if j > 0 else 0))
                                for i in range(2) for j in range(3)),
               W=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], x=[0.9, -0.4, 0.3]),
    buffers_after={"W": tensor([1.0] * 6, [2, 3])})

program(
    "views_overlap", "a strided view is read live, a span that shares one element with it is written",
    inputs={"x": leaf([0.5, 0.6, 0.7])},
    buffers={"B": tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3])},
    views={"V": {"of": "B", "region": {"block": {"offset": 0, "shape": [3], "stride": [2]}}},
           "U": {"of": "B", "region": {"span": [3, 5]}}},
    segments={"S": {"args": ["x", "v"], "out": ["y"], "body": [
        op("mul", "x", "v", out="t"), op("sin", "t", out="t"), write("U", 9.0),
        op("mul", "t", "v", out="y"), write("V", 0.0, region={"rows": [1]})]}},
    main=[call("S", ["x", "V"], ["y"]), write("B", -1.0, "add", region={"span": [0, 1]}), backward("y")],
    grads=grad(lambda x: sin(x[0] * 1) * 1 + sin(x[1] * 3) * 3 + sin(x[2] * 5) * 9, x=[0.5, 0.6, 0.7]),
    buffers_after={"B": tensor([0.0, 2.0, 0.0, 9.0, 9.0, 6.0], [2, 3])})

program(
    "reshaped_value", "values never share bytes: writing the reshaped one leaves its source alone, and the other way round",
    inputs={"x": leaf([0.1, 0.2, 0.3, 0.4], [2, 2])},
    segments={"S": {"args": ["x"], "out": ["y"], "body": [
        op("sin", "x", out="a"), op("reshape", "a", out="b", shape=[4]), op("transpose", "a", out="c"),
        write("b", 2.0, "mul"), write("a", 1.0, "add", region={"rows": [1]}),
        op("reshape", "b", out="b2", shape=[2, 2]), op("mul", "a", "b2", out="y"), op("mul", "y", "c", out="y")]}},
    main=[call("S", ["x"], ["y"]), backward("y")],
    grads=grad(lambda x: sum((sin(x[2 * i + j]) + (1 if i == 1 else 0)) * 2 * sin(x[2 * i + j]) * sin(x[2 * j + i])
                             for i in range(2) for j in range(2)), x=[0.1, 0.2, 0.3, 0.4]))

program(
    "two_names", "one value passed as two arguments and written in place; the caller goes on with it",
    inputs={"x": leaf([0.4, 0.8])},
    segments={"S": {"args": ["a", "b"], "out": ["y", "b"], "body": [
        op("sin", "a", out="s"), write("a", "s", "mul"), op("exp", "b", out="y")]}},
    main=[op("mul", "x", 2.0, out="v"), call("S", ["v", "v"], ["y", "w"]), write("w", 0.5, "add"),
          op("mul", "y", "v", out="z"), backward("z")],
    grads=grad(lambda x: sum(exp(2 * t * sin(2 * t)) * (2 * t * sin(2 * t) + 0.5) for t in x), x=[0.4, 0.8]))

# ---- ties, integers, decisions

program(
    "ties", "bf16 and round go to the even neighbour, gradient 1; topk and argmax take the lower index", dtype="f32",
    inputs={"x": leaf([1.00390625, 1.01171875, -1.00390625, 3.0]), "r": leaf([0.5, 1.5, 2.5, -0.5]),
            "T": leaf([1.0, 3.0, 3.0, 0.0, 3.0], [5, 1])},
    buffers={"k": tensor([0, 0], dtype="i64"), "m": tensor([0], dtype="i64")},
    segments={"S": {"args": ["x", "r"], "out": ["y"], "body": [
        op("cast", "x", out="c", to="bf16"), op("mul", "c", "c", out="c2"), op("round", "r", out="q"),
        op("mul", "q", "q", out="q2"), op("add", "c2", "q2", out="y")]},
        "P": {"args": [], "out": ["z"], "body": [
            op("reshape", "T", out="t", shape=[5]), op("topk", "t", out="i", k=2), op("argmax", "t", out="j"),
            write("k", "i"), write("m", "j"), op("gather", "T", "i", out="g"), op("mul", "g", "g", out="z")]}},
    main=[call("S", ["x", "r"], ["y"]), call("P", [], ["z"]), backward("y", "z")],
    grads={"x": [2 * 1.0, 2 * 1.015625, 2 * -1.0, 6.0], "r": [0.0, 4.0, 4.0, 0.0], "T": [0.0, 6.0, 6.0, 0.0, 0.0]},
    buffers_after={"k": tensor([1, 2], dtype="i64"), "m": tensor([1], dtype="i64")})

program(
    "integers", "integer arithmetic stays integer, mod has the divisor's sign, i64 truncates; results pick rows",
    inputs={"x": leaf([0.3, 0.6, 0.9, 1.2], [4, 1])},
    buffers={"n": tensor([-3, 7], dtype="i64"), "a": tensor([0, 0], dtype="i64"), "b": tensor([0, 0], dtype="i64"),
             "c": tensor([0.0, 0.0]), "d": tensor([0, 0], dtype="i64"), "f": tensor([-1.7, 2.9])},
    segments={"S": {"args": ["x"], "out": ["y"], "body": [
        op("mod", "n", 4, out="i"), write("a", "i"), op("mod", "n", -4, out="k"), write("b", "k"),
        op("mod", "f", 2.0, out="h"), write("c", "h"), op("cast", "f", out="t", to="i64"),
        op("mul", "t", 3, out="t"), op("sub", "t", "n", out="t"), write("d", "t"),
        op("gather", "x", "i", out="g"), op("sin", "g", out="y"), write("n", 0)]}},
    main=[call("S", ["x"], ["y"]), backward("y")],
    grads=grad(lambda x: sin(x[1]) + sin(x[3]), x=[0.3, 0.6, 0.9, 1.2]),
    buffers_after={"n": tensor([0, 0], dtype="i64"), "a": tensor([1, 3], dtype="i64"), "b": tensor([-3, -1], dtype="i64"),
                   "c": tensor([-1.7 % 2.0, 2.9 % 2.0]), "d": tensor([-3 + 3, 6 - 7], dtype="i64"),
                   "f": tensor([-1.7, 2.9])})


def normalised(column, eps):
    m = sum(column) / len(column)
    v = sum((c - m) * (c - m) for c in column) / len(column)
    return [(c - m) / sqrt(v + eps) for c in column]


def batchnorm_loss(x, w):
    total = 0
    for j in range(2):
        z = normalised([x[2 * i + j] for i in range(3)], 0.1)
        total += sum(z[i] * z[i] * w[2 * i + j] for i in range(3))
    for i in range(3):  # layernorm over the last axis, and softmax over it
        row = normalised([x[2 * i], x[2 * i + 1]], 1e-5)
        e = [exp(x[2 * i]), exp(x[2 * i + 1])]
        total += row[0] * w[2 * i] * e[0] / (e[0] + e[1]) + row[1] * w[2 * i + 1] * e[1] / (e[0] + e[1])
    return total


X, W = [0.3, -1.2, 0.8, 0.1, -0.5, 2.0], [1.0, -0.5, 0.25, 2.0, 0.7, -1.1]
program(
    "normalisations", "batchnorm over axis 0, layernorm and softmax over the last, weights in a buffer that changes",
    inputs={"x": leaf(X, [3, 2])}, buffers={"w": tensor(W, [3, 2])},
    segments={"S": {"args": ["x"], "out": ["y", "u"], "body": [
        op("batchnorm", "x", out="z", eps=0.1), op("mul", "z", "z", out="z"), op("mul", "z", "w", out="y"),
        op("layernorm", "x", out="l"), op("mul", "l", "w", out="l"), op("softmax", "x", out="p"),
        op("mul", "l", "p", out="u"), write("w", 0.0)]}},
    main=[call("S", ["x"], ["y", "u"]), backward("y", "u")],
    grads=grad(lambda x: batchnorm_loss(x, W), x=X), buffers_after={"w": tensor([0.0] * 6, [3, 2])})

# ---- several backwards, hooks, effects

program(
    "nested_keep", "nested segments, two backwards with writes between them, an accumulator that is cleared once",
    inputs={"x": leaf([0.7]), "W": leaf([1.3], kind="param")}, buffers={"B": tensor([2.0])},
    segments={"I": {"args": ["h"], "out": ["o"], "body": [
        read("B", "b"), op("mul", "h", "b", out="o"), op("sin", "o", out="o"), write("B", 1.0, "add")]},
        "S": {"args": ["x"], "out": ["y"], "body": [
            op("mul", "x", "W", out="h"), call("I", ["h"], ["h"]), call("I", ["h"], ["h"]), op("mul", "h", "W", out="y")]}},
    main=[call("S", ["x"], ["y"]), backward("y", keep=True), write("B", -5.0), write("W", 9.0),
          {"do": "grad", "of": "W", "out": "g", "clear": True}, write("B", "g"), backward("y")],
    grads=grad(lambda x, W: sin(sin(x[0] * W[0] * 2) * 3) * W[0] * 1, x=[0.7], W=[1.3]))
_g = PROGRAMS[-1]["expect"]["grads"]
PROGRAMS[-1]["expect"]["buffers"] = {"B": tensor(list(_g["W"]["data"])), "W": tensor([9.0])}
_g["x"]["data"] = [2 * _g["x"]["data"][0]]  # x gathered two backwards, W was cleared between them

program(
    "shared_trunk", "two roots over one trunk, differentiated one after the other; neither root twice",
    inputs={"x": leaf([0.7, 0.2])}, buffers={"B": tensor([2.0, 3.0])},
    segments={"S": {"args": ["x"], "out": ["h"], "body": [op("mul", "x", "B", out="t"), op("sin", "t", out="h"), write("B", 1.0)]}},
    main=[call("S", ["x"], ["h"]), op("exp", "h", out="a"), op("mul", "h", "h", out="b"), backward("a"),
          write("B", 4.0), backward("b")],
    grads=grad(lambda x: sum(exp(sin(x[i] * (2 + i))) + sin(x[i] * (2 + i)) ** 2 for i in range(2)), x=[0.7, 0.2]),
    buffers_after={"B": tensor([4.0, 4.0])})

program(
    "hook_order", "hooks run from the loss downwards, a leaf's own last; each once in each of two backwards",
    inputs={"x": leaf([0.4]), "W": leaf([2.0], kind="param")}, cells={"log": [], "n": 0},
    segments={"S": {"args": ["x"], "out": ["y"], "body": [
        op("mul", "x", "W", out="t"),
        {"do": "hook", "in": ["t"], "out": "t", "body": [{"do": "append", "cell": "log", "value": "low"},
                                                         write("W", 1.0, "add")]},
        op("sin", "t", out="y"), op("mul", "y", "W", out="y")]}},
    main=[{"do": "on_grad", "of": "x", "body": [{"do": "bump", "cell": "n", "by": 1},
                                                 {"do": "append", "cell": "log", "value": "n"}]},
          call("S", ["x"], ["y"]),
          {"do": "hook", "in": ["y"], "out": "z", "body": [{"do": "append", "cell": "log", "value": "top"}]},
          backward("z", keep=True), backward("z")],
    grads={k: [2 * v for v in g] for k, g in grad(lambda x, W: sin(x[0] * W[0]) * W[0], x=[0.4], W=[2.0]).items()},
    buffers_after={"W": tensor([4.0])}, cells_after={"log": ["top", "low", 1, "top", "low", 2], "n": 2})

program(
    "retry_once", "the lower segment's replay fails after the upper one has delivered; all contributions and hooks once",
    inputs={"x": leaf([0.4]), "V": leaf([0.3], kind="param"), "W": leaf([2.0], kind="param")},
    cells={"n": 0}, buffers={"B": tensor([1.5])},
    segments={"L": {"args": ["x"], "out": ["y"], "body": [
        op("mul", "x", "V", out="t"), op("fail", "t", out="t"), op("mul", "t", "B", out="t"), op("sin", "t", out="y"),
        write("B", 1.0, "add")]},
        "U": {"args": ["x"], "out": ["y"], "body": [
            op("mul", "x", "W", out="t"), op("mul", "t", "B", out="t"), op("sin", "t", out="y"), write("B", 1.0, "add")]}},
    main=[{"do": "on_grad", "of": "W", "body": [{"do": "bump", "cell": "n", "by": 1}, write("W", 10.0, "add")]},
          call("L", ["x"], ["a"]), call("U", ["a"], ["b"]), backward("b", retries=2)],
    grads=grad(lambda x, V, W: sin(sin(x[0] * V[0] * 1.5) * W[0] * 2.5), x=[0.4], V=[0.3], W=[2.0]),
    buffers_after={"B": tensor([3.5]), "W": tensor([12.0]), "V": tensor([0.3])}, cells_after={"n": 1})

# ---- scopes, cells, contexts, streams

program(
    "scopes", "a segment sees main's values as bound at the call, a nested one main's and not its caller's",
    inputs={"x": leaf([0.6])}, contexts={"g": 2.0}, cells={"k": -3, "K": tensor([5.0])}, buffers={"B": tensor([1.25])},
    segments={"I": {"args": ["v"], "out": ["o"], "body": [op("mul", "v", "h", out="o"), op("sin", "o", out="o")]},
              "S": {"args": ["x"], "out": ["y"], "body": [
                  op("mul", "x", 100.0, out="h"), {"do": "context", "key": "g", "out": "c"},
                  {"do": "with", "key": "g", "value": 0.5, "body": [
                      {"do": "context", "key": "g", "out": "d"}, call("I", ["x"], ["y"])]},
                  {"do": "if", "test": ["mod", "k", 4, 1], "then": [op("mul", "y", "c", out="y")],
                   "else": [op("mul", "y", 0.0, out="y")]},
                  op("mul", "y", "d", out="y"), op("mul", "y", "K", out="y"), op("mul", "y", "h", out="y")]}},
    main=[op("exp", "x", out="h"), {"do": "set", "cell": "K", "value": "B"}, write("B", 0.0),
          call("S", ["x"], ["y"]), {"do": "set", "cell": "K", "value": 7.0}, {"do": "set", "cell": "k", "value": 0},
          op("mul", "h", 0.0, out="h"), backward("y")],
    grads=grad(lambda x: sin(x[0] * exp(x[0])) * 2.0 * 0.5 * 1.25 * (100 * x[0]), x=[0.6]),
    buffers_after={"B": tensor([0.0])}, cells_after={"k": 0, "K": tensor([7.0], [])})

# Draws: seed 7, id 0, positions 0..5 as the format states them, to 8 digits; so f32 and its tolerance.
U = [0.95459712, 0.75015217, 0.11417735, 0.08565784, 0.40696037, 0.79528403]
program(
    "streams", "a named stream and a foreign one with the same seed, drawn inside and outside of segments", dtype="f32",
    inputs={"x": leaf([0.5, 0.6])}, streams={"r": {"seed": 7, "kind": "named"}, "f": {"seed": 7, "kind": "foreign"}},
    segments={"S": {"args": ["x"], "out": ["y"], "body": [
        {"do": "draw", "stream": "r", "shape": [2], "out": "u"}, {"do": "draw", "stream": "f", "shape": [2], "out": "v"},
        op("mul", "x", "u", out="t"), op("sin", "t", out="t"), op("mul", "t", "v", out="y")]}},
    main=[{"do": "draw", "stream": "f", "shape": [1], "out": "q"}, call("S", ["x"], ["y"]),
          {"do": "draw", "stream": "r", "shape": [1], "out": "q"}, call("S", ["y"], ["z"]),
          {"do": "draw", "stream": "f", "shape": [9], "out": "q"}, backward("z")],
    grads=grad(lambda x: sum(sin(sin(x[i] * U[i]) * U[1 + i] * U[3 + i]) * U[3 + i] for i in range(2)), x=[0.5, 0.6]),
    streams_after={"r": 5, "f": 14})

program(
    "unsteady", "a kernel that does not repeat itself, its step broadcast; its gradient to the step is zero",
    inputs={"x": leaf([0.5, 0.6]), "s": leaf([3.0], [])},
    segments={"S": {"args": ["x"], "out": ["y"], "body": [
        op("sin", "x", out="a"), op("unsteady", "a", "s", out="b"), op("mul", "b", "b", out="c"), op("exp", "c", out="y")]}},
    main=[call("S", ["x"], ["y"]), backward("y", keep=True), backward("y")],
    grads={**{k: [2 * v for v in g] for k, g in grad(lambda x: sum(exp(sin(t) ** 2) for t in x), x=[0.5, 0.6]).items()},
           "s": [0.0]})

program(
    "normalised_nothing", "no rows are normalised, multiplied and summed: their gradient is empty, the sum is zero",
    inputs={"x": leaf([0.3, -0.7]), "e": leaf([], [0, 3])}, buffers={"W": tensor([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [3, 2])},
    segments={"S": {"args": ["e"], "out": ["y"], "body": [
        op("softmax", "e", out="a"), op("layernorm", "a", out="b"), op("batchnorm", "b", out="c"),
        op("matmul", "c", "W", out="d"), op("sum", "d", axis=0, out="s"), op("sin", "x", out="q"),
        op("add", "q", "s", out="y")]}},
    main=[call("S", ["e"], ["y"]), write("W", 0.0), backward("y")],
    grads={**grad(lambda x: sum(sin(t) for t in x), x=[0.3, -0.7]), "e": []},
    buffers_after={"W": tensor([0.0] * 6, [3, 2])})

program(
    "append_by_argument", "a number cell is appended by the name of an argument that stands for it, in a body too",
    inputs={"x": leaf([0.4])}, cells={"n": 1, "log": []},
    segments={"S": {"args": ["h", "c", "l"], "out": ["y"], "body": [
        {"do": "bump", "cell": "c", "by": 1}, {"do": "append", "cell": "l", "value": "c"}, op("mul", "h", "c", out="t"),
        {"do": "hook", "in": ["t"], "out": "t", "body": [
            {"do": "bump", "cell": "c", "by": 10}, {"do": "append", "cell": "l", "value": "c"}]},
        {"do": "append", "cell": "l", "value": "h"}, op("sin", "t", out="y")]}},
    main=[call("S", ["x", "n", "log"], ["y"]), {"do": "append", "cell": "log", "value": "n"}, backward("y")],
    grads=grad(lambda x: sin(x[0] * 2), x=[0.4]), cells_after={"n": 12, "log": [2, "h", 2, 12]})

program(
    "optimiser_loop", "two steps of descent by hand: the param is stepped by its own gradient, then used again",
    inputs={"x": leaf([0.5], kind="frozen"), "W": leaf([0.8], kind="param")},
    segments={"S": {"args": [], "out": ["y"], "body": [op("mul", "W", "x", out="t"), op("sin", "t", out="t"), op("mul", "t", "W", out="y")]}},
    main=[call("S", [], ["y"]), backward("y"), {"do": "grad", "of": "W", "out": "g", "clear": True},
          op("mul", "g", -0.1, out="d"), write("W", "d", "add"), call("S", [], ["y"]), backward("y"), backward("W")],
    grads={"W": [0.0]})
_f = lambda W: sin(W[0] * 0.5) * W[0]
_W = 0.8 - 0.1 * grad(_f, W=[0.8])["W"][0]
PROGRAMS[-1]["expect"]["grads"]["W"]["data"] = [grad(_f, W=[_W])["W"][0] + 1.0]
PROGRAMS[-1]["expect"]["buffers"] = {"W": tensor([_W])}


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    for p in PROGRAMS:
        with open(os.path.join(here, p["name"] + ".json"), "w", encoding="utf-8") as f:
            f.write(json.dumps(p, indent=1) + "\n")


if __name__ == "__main__":
    main()
