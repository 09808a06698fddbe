"""Steps that random programs are made of. Each takes the builder and the name of the current value, of shape
[batch, width], adds statements, and gives the name of the next value; `generator_classes.py` says which are used where.
"""


def number(b, low=-1.3, high=1.3):
    return round(b.rng.uniform(low, high), 3)


def act(b, h):
    return b.op(b.rng.choice(["tanh", "sin", "tanh", "cos"]), [h])


def norm(b, h):
    kind = b.rng.choice(["layernorm", "layernorm", "softmax", "batchnorm"])
    return b.op(kind, [h], **({} if kind == "softmax" else {"eps": 0.05}))


def dense(b, h):
    weight = b.rng.choice(["W", "W2"])
    if b.rng.random() < 0.3:
        weight = b.op("transpose", [weight])
    return b.op("matmul", [h, weight])


def mix(b, h, other):
    """h times something of shape [width], plus h: the factor's bytes are needed for the gradient."""
    t = b.op("mul", [h, other])
    return b.op("add", [t, h]) if b.rng.random() < 0.5 else t


def read_mul(b, h):
    name, region, shape = b.some_row()
    r = b.read(name, region)
    return mix(b, h, r if shape == [b.width] else b.op("mean", [r], axis=0))


def live_mul(b, h):
    """The op gets the live buffer, view or param."""
    return mix(b, h, b.rng.choice(b.rows_by_name()))


def write_state(b, h):
    b.write_some(h)
    return h


def ema(b, h):
    m = b.op("mul", [b.op("stop", [b.op("mean", [h], axis=0)]), number(b, 0.1, 0.6)])
    e = b.rng.choice(["D", "E"])
    b.add({"do": "write", "to": e, "mode": "mul", "value": number(b, 0.4, 0.9)})
    b.add({"do": "write", "to": e, "mode": "add", "value": m})
    return b.op("sub", [h, b.read(e)]) if b.rng.random() < 0.6 else h


def ring(b, h):
    r = b.op("mean", [b.read("Q")], axis=0)
    h = mix(b, h, r)
    k = b.op("stop", [b.op("mean", [h], axis=0)])
    b.add({"do": "write", "to": "Q", "mode": "assign", "value": k, "region": {"rows": "ptr", "wrap": True}})
    b.add({"do": "write", "to": "ptr", "mode": "add", "value": b.rng.choice([1, 1, 2])})
    return h


def topk_rows(b, h):
    i = b.op("topk", [b.read("sc")], k=b.rng.choice([1, 2, 3]))
    h = mix(b, h, b.op("mean", [b.read("M", {"rows": i})], axis=0))
    b.add({"do": "write", "to": "sc", "mode": "mul", "value": number(b, -0.95, -0.6)})
    b.add({"do": "write", "to": "sc", "mode": "add", "value": number(b, 0.1, 0.5), "region": {"rows": i}})
    if b.rng.random() < 0.5:
        b.add({"do": "write", "to": "M", "mode": b.rng.choice(["mul", "add"]), "value": number(b), "region": {"rows": i}})
    return h


def argmax_gather(b, h):
    i = b.op("argmax", [h])
    table = b.rng.choice(["M", "W", b.read("M")])
    h = b.op("mul", [h, b.op("gather", [table, i])])
    if table == "M" or b.rng.random() < 0.4:
        b.add({"do": "write", "to": "M", "mode": "mul", "value": number(b, 0.5, 0.9)})
    return h


def gather_state(b, h):
    """Rows named by an index buffer, which then moves on."""
    r = b.op("mean", [b.op("gather", ["M", "idx"])], axis=0)
    h = mix(b, h, r)
    if b.rng.random() < 0.6:
        b.add({"do": "write", "to": "idx", "mode": "add", "value": 1, "region": {"rows": [0]}})
        t = b.op("mod", ["idx", b.rows])
        b.add({"do": "write", "to": "idx", "mode": "assign", "value": t})
    return h


def span(b, h):
    lo = b.rng.randrange(0, (b.rows - 1) * b.width)
    r = b.read("M", {"span": [lo, lo + b.width]})
    h = mix(b, h, r)
    lo = b.rng.randrange(0, (b.rows - 1) * b.width)
    k = b.op("stop", [b.op("max", [h], axis=0)])
    b.add({"do": "write", "to": "M", "mode": b.mode(), "value": k, "region": {"span": [lo, lo + b.width]}})
    return h


def block(b, h):
    stride = b.rng.choice([1, 2, b.width])
    lo = b.rng.randrange(0, b.rows * b.width - (b.width - 1) * stride)
    region = {"block": {"offset": lo, "shape": [b.width], "stride": [stride]}}
    h = mix(b, h, b.read("M", region))
    b.add({"do": "write", "to": "M", "mode": b.mode(), "value": number(b, 0.4, 1.2), "region": region})
    return h


def inplace(b, h):
    t = b.op("mul", [h, number(b, 0.4, 1.2)])
    saved = b.op("sin", [t]) if b.rng.random() < 0.5 else None
    region, value = b.rng.choice([(None, b.rng.choice([number(b), h])), ({"rows": [0]}, number(b)), (None, number(b)),
                                  ({"span": [1, 1 + b.width]}, "W"), ({"rows": [b.batch - 1]}, "E")])
    if region and "span" in region:
        value = b.op("mean", [h], axis=0)
        region = {"rows": [1]}
    s = {"do": "write", "to": t, "mode": b.mode(), "value": value}
    b.add(s | ({"region": region} if region else {}))
    if b.rng.random() < 0.3:
        b.add({"do": "write", "to": t, "mode": "mul", "value": number(b, 0.5, 1.1)})
    return b.op("add", [t, saved]) if saved else t


def inplace_saved(b, h):
    """In place on an output that its own backward formula would like to keep."""
    t = b.op(b.rng.choice(["tanh", "exp", "softmax"]), [b.op("mul", [h, 0.3])])
    s = b.op("mul", [t, number(b)])
    b.add({"do": "write", "to": t, "mode": b.rng.choice(["add", "mul"]), "value": number(b, 0.4, 1.2)})
    return b.op("mul", [s, t])


def dropout(b, h, stream="r"):
    u = b.named({"do": "draw", "stream": stream, "shape": [b.batch, b.width]})
    m = b.op("less", [u, number(b, 0.4, 0.8)])
    return b.op("mul", [b.op("mul", [h, m]), number(b, 1.1, 1.8)])


def dropout_named(b, h):
    return dropout(b, h, "q")


def dropout_foreign(b, h):
    b.need_stream("f", "foreign")
    return dropout(b, h, "f")


def branch(b, h):
    b.add({"do": "bump", "cell": "n", "by": 1})
    out = b.fresh()
    test = b.rng.choice([["mod", "n", 2, 1], ["lt", "n", b.rng.choice([1, 2, 3])], ["eq", "n", 1]])
    b.add({"do": "if", "test": test, "then": [{"do": "sin", "in": [h], "out": out}],
           "else": [{"do": "mul", "in": [h, number(b)], "out": out}]})
    return out


def mode_flag(b, h):
    out = b.fresh()
    b.add({"do": "if", "test": ["eq", "on", 1], "then": [{"do": "mul", "in": [h, number(b)], "out": out}],
           "else": [{"do": "sin", "in": [h], "out": out}]})
    return b.op("sin", [out])


def context(b, h):
    k = b.named({"do": "context", "key": "gain"})
    return b.op("tanh", [b.op("mul", [h, k])])


def context_inner(b, h):
    out = b.fresh()
    b.add({"do": "with", "key": "gain", "value": number(b), "body": [
        {"do": "context", "key": "gain", "out": out}, {"do": "mul", "in": [h, out], "out": out}]})
    return context(b, b.op("sin", [out]))


def cell(b, h):
    k = b.op("mul", ["K", 1.0])
    if b.rng.random() < 0.5:
        k = "K"
    new = b.op("add", [b.op("stop", [b.op("mean", [h], axis=0)]), 0.3])
    h = mix(b, h, k)
    b.add({"do": "set", "cell": "K", "value": new})
    return h


def grow(b, h):
    b.need_cell("G", {"shape": [1, b.width], "data": [0.5] * b.width})
    k = b.op("stop", [b.op("reshape", [b.op("mean", [h], axis=0)], shape=[1, b.width])])
    b.add({"do": "set", "cell": "G", "value": b.op("concat", ["G", k])})
    return mix(b, h, b.op("mean", ["G"], axis=0))


def memo(b, h):
    b.need_cell("C", {"shape": [b.width], "data": [0.0] * b.width})
    b.need_cell("full", 0)
    k = b.fresh()
    b.add({"do": "if", "test": ["eq", "full", 0], "then": [
        {"do": "cast", "in": ["D"], "out": k, "to": "bf16"}, {"do": "set", "cell": "C", "value": k},
        {"do": "set", "cell": "full", "value": 1}]})
    return mix(b, h, "C")


def log(b, h):
    b.add({"do": "bump", "cell": "n", "by": b.rng.choice([1, 2])})
    b.add({"do": "append", "cell": "log", "value": b.rng.choice(["a", "b", "n"])})
    return h


def count(b, h):
    i = b.op("argmax", [h])
    b.add({"do": "write", "to": "cnt", "mode": "add", "value": 1})
    hot = b.op("gather", ["eye", i])
    b.add({"do": "write", "to": "use", "mode": "add", "value": b.op("sum", [hot], axis=0)})
    return b.op("mul", [h, b.op("add", [hot, 0.5])])


def choose(b, h):
    kind = b.rng.choice(["less", "greater"])
    return b.op("where", [b.op(kind, [h, number(b)]), h, b.op("mul", [h, number(b)])])


def rounding(b, h):
    if b.rng.random() < 0.5:
        return b.op("mul", [b.op("cast", [h], to="bf16"), h])
    return b.op("div", [b.op("round", [b.op("mul", [h, 4.0])]), 4.0])


def statistics(b, h):
    m = b.op("stop", [b.op("mean", [h], axis=0)])
    b.add({"do": "write", "to": "D", "mode": "mul", "value": 0.9})
    b.add({"do": "write", "to": "D", "mode": "add", "value": b.op("mul", [m, 0.1])})
    b.add({"do": "write", "to": "cnt", "mode": "add", "value": 1})
    return b.op("batchnorm", [h], eps=0.05)


def unsteady(b, h):
    return b.op("tanh", [b.op("unsteady", [h, b.rng.choice([0.02, 0.25, "E"])])])


def failing(b, h):
    b.fails += 1
    return b.op("sin", [b.op("fail", [h])])


def captured(b, h):
    """A value of main, found by name."""
    return b.op("mul", [h, b.rng.choice(["m0", "m1"])])


def captured_write(b, h):
    t = b.op("mul", [h, "m0"])
    b.add({"do": "write", "to": "m0", "mode": b.rng.choice(["add", "mul"]), "value": number(b, 0.5, 1.2)})
    return b.op("add", [t, b.op("sin", ["m0"])])


def argument_write(b, h):
    """The segment overwrites what it was given."""
    s = b.op("sin", ["h"]) if b.rng.random() < 0.5 else None
    b.add({"do": "write", "to": "h", "mode": b.rng.choice(["add", "mul"]), "value": number(b, 0.5, 1.2)})
    t = b.op("tanh", ["h"])
    t = b.op("add", [t, s]) if s else t
    return b.op("mul", [t, h]) if h != "h" else t


def argument_state(b, h):
    """A buffer, view or param that came as an argument: read, used live, written."""
    h = mix(b, h, b.rng.choice(["p", b.read("p")]))
    if b.rng.random() < 0.7:
        b.add({"do": "write", "to": "p", "mode": b.mode(), "value": number(b, 0.4, 1.2)})
        if b.rng.random() < 0.5:
            h = mix(b, h, b.read("p"))
    return h


def param_write(b, h):
    h = b.op("matmul", [h, "W"])
    b.add({"do": "write", "to": "W", "mode": b.rng.choice(["mul", "add"]), "value": number(b, 0.3, 0.9)})
    return b.op("tanh", [h])


def param_rows(b, h):
    r = b.read("W", {"rows": [b.rng.randrange(b.width)]})
    b.add({"do": "write", "to": "W", "mode": "mul", "value": number(b, 0.3, 0.9), "region": {"rows": [1, 0]}})
    return b.op("matmul", [b.op("add", [h, r]), "W"])


def inner_hook(b, h):
    out = b.fresh()
    body = [{"do": "write", "to": b.rng.choice(["E", "D"]), "mode": "add", "value": number(b)}]
    if b.rng.random() < 0.5:
        body.append({"do": "bump", "cell": "n", "by": 1})
    b.add({"do": "hook", "in": [h], "out": out, "body": body})
    return b.op("sin", [out])


def value_read(b, h):
    """A copy of a value's bytes is a constant."""
    r = b.read(h, b.rng.choice([None, {"rows": [0]}, {"rows": [b.batch - 1, 0]}]))
    return b.op("mul", [h, b.op("mean", [r], axis=0)])


def shapes(b, h):
    t = b.op("concat", [h, b.read("M", {"rows": [0]})])
    t = b.op("transpose", [b.op("matmul", [t, "W2"])])
    t = b.op("reshape", [b.op("mean", [t], axis=1)], shape=[1, b.width])
    return b.op("mul", [h, t])


STEPS = {name: f for name, f in list(globals().items())
         if callable(f) and name not in ("number", "mix", "dropout") and not name.startswith("_")}
STEPS["dropout"] = dropout
