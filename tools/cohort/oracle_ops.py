"""Tensors of the language as arrays; ops of the oracle, for real and complex arrays alike, each as (arrays, attributes) ->
(result, margin).

Decisions (the sign in relu, the winner of max) look at real parts only, so that a complex step passes through them as
the derivative does. The margin says how far from a tie the nearest decision was; infinity where none was made.
"""
import numpy as np

FAR = np.inf


def tensor(spec):
    kind = np.int64 if spec.get("dtype") == "i64" else np.float64
    return np.array(spec["data"], dtype=kind).reshape(spec["shape"])


def to_json(array):
    array = np.asarray(array)
    out = {"shape": list(array.shape), "data": array.reshape(-1).tolist()}
    if array.dtype.kind == "i":
        out["dtype"] = "i64"
    return out


def gap(numbers):
    numbers = np.abs(np.asarray(numbers, dtype=np.float64))
    return float(numbers.min()) if numbers.size else FAR


def plain(function):
    return lambda a, s: (function(*a), FAR)


def whole(array):
    array = np.asarray(array)
    return array.dtype.kind == "i" or (array.ndim == 0 and array.dtype.kind == "f" and float(array).is_integer())


def arithmetic(function):
    def run(a, s):
        if all(whole(x) for x in a) and any(np.asarray(x).dtype.kind == "i" and np.asarray(x).ndim for x in a):
            a = [np.asarray(x).astype(np.int64) for x in a]
        return function(*a), FAR
    return run


def axis_of(a, s):
    return {"axis": s.get("axis"), "keepdims": bool(s.get("keep", False)) and "axis" in s}


def relu(a, s):
    x = np.asarray(a[0])
    return np.where(x.real > 0, x, 0 * x), gap(x.real)


def absolute(a, s):
    x = np.asarray(a[0])
    return x * np.sign(x.real), gap(x.real)


def maximum(a, s):
    x = np.asarray(a[0])
    if "axis" not in s:
        x = x.reshape(-1)
    axis = s.get("axis", 0)
    at = np.expand_dims(x.real.argmax(axis=axis), axis)
    ranked = np.sort(x.real, axis=axis)
    two = np.take(ranked, [-1], axis) - np.take(ranked, [-2], axis) if x.shape[axis] > 1 else FAR
    best = np.take_along_axis(x, at, axis)
    return best if s.get("keep") and "axis" in s else np.squeeze(best, axis), gap(two)


def softmax(a, s):
    x = np.asarray(a[0])
    e = np.exp(x - x.real.max(axis=-1, keepdims=True, initial=-np.inf))
    return e / e.sum(axis=-1, keepdims=True), FAR


def normalise(axis):
    def run(a, s):
        x = np.asarray(a[0])
        centred = x - x.mean(axis=axis, keepdims=True)
        variance = (centred * centred).mean(axis=axis, keepdims=True)
        return centred / np.sqrt(variance + s.get("eps", 1e-5)), FAR
    return run


def where(a, s):
    x, y = np.asarray(a[1]), np.asarray(a[2])
    return np.where(np.asarray(a[0]).real != 0, x, y), FAR


def bf16(x):
    bits = np.asarray(x, dtype=np.float32).view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return bits.astype(np.uint32).view(np.float32).astype(np.float64)


def bf16_margin(x):
    """Distance to the nearest midpoint between two bf16 numbers, relative to the number."""
    bits = np.asarray(x, dtype=np.float32).view(np.uint32).astype(np.int64) & 0xFFFF
    return float(np.abs(bits - 0x8000).min()) * 2.0 ** -23 if np.asarray(x).size else FAR


def cast(a, s):
    x = np.asarray(a[0])
    if s["to"] != "bf16":
        return x.copy(), FAR
    return x + (bf16(x.real) - x.real), bf16_margin(x.real)


def rounded(a, s):
    x = np.asarray(a[0])
    near = np.round(x.real)
    return x + (near - x.real), 0.5 - float(np.abs(x.real - near).max(initial=0))


def steady(a, s):
    """What `unsteady` gives the first time: in[0], broadcast against the step that is not taken."""
    return np.broadcast_to(np.asarray(a[0]), np.broadcast_shapes(np.shape(a[0]), np.shape(a[1]))) + 0.0, FAR


def inplace(a, s):
    new = np.array(a[0], dtype=np.result_type(*[np.asarray(x).dtype for x in a]) if a[0].dtype.kind != "i" else None)
    flat = new.reshape(-1)
    value = np.broadcast_to(np.asarray(a[1]), s["at"].shape)
    flat[s["at"]] = {"assign": lambda: value, "add": lambda: flat[s["at"]] + value,
                     "mul": lambda: flat[s["at"]] * value}[s["mode"]]()
    return flat.reshape(new.shape), FAR


def integers(x):
    return np.asarray(x).real.astype(np.int64)


DIFFERENTIABLE = {
    "add": arithmetic(np.add), "sub": arithmetic(np.subtract), "mul": arithmetic(np.multiply),
    "div": plain(np.divide), "neg": plain(np.negative), "sin": plain(np.sin), "cos": plain(np.cos),
    "exp": plain(np.exp), "log": plain(np.log), "sqrt": plain(np.sqrt), "tanh": plain(np.tanh),
    "relu": relu, "abs": absolute, "matmul": plain(np.matmul),
    "sum": lambda a, s: (np.asarray(a[0]).sum(**axis_of(a, s)), FAR),
    "mean": lambda a, s: (np.asarray(a[0]).mean(**axis_of(a, s)), FAR), "max": maximum,
    "reshape": lambda a, s: (np.asarray(a[0]).reshape(s["shape"]).copy(), FAR),
    "transpose": lambda a, s: (np.asarray(a[0]).T.copy(), FAR),
    "concat": lambda a, s: (np.concatenate([np.asarray(x) for x in a], axis=s.get("axis", 0)), FAR),
    "gather": lambda a, s: (np.asarray(a[0])[integers(a[1])], FAR),
    "softmax": softmax, "layernorm": normalise(-1), "batchnorm": normalise(0), "where": where, "cast": cast,
    "round": rounded, "unsteady": steady,
    "fail": lambda a, s: (np.asarray(a[0]) + 0, FAR), "stop_through": lambda a, s: (np.asarray(a[0]) + 0, FAR),
    "inplace": inplace,
}


def compare(function):
    def run(a, s):
        x, y = np.asarray(a[0], dtype=np.float64), np.asarray(a[1], dtype=np.float64)
        return function(x, y).astype(np.float64), gap(x - y) if function is not np.equal else FAR
    return run


def ranked_gap(x, k):
    order = -np.sort(-np.asarray(x, dtype=np.float64), axis=-1)
    two = order[..., :k] - order[..., 1:k + 1] if order.shape[-1] > k else order[..., :-1] - order[..., 1:]
    return gap(two)


def topk(a, s):
    x, k = np.asarray(a[0]), s.get("k", 1)
    return np.argsort(-x, axis=-1, kind="stable")[..., :k].astype(np.int64), ranked_gap(x, k)


FROZEN = {
    "stop": lambda a, s: (np.array(a[0]), FAR),
    "argmax": lambda a, s: (np.asarray(np.asarray(a[0]).argmax(axis=-1)).astype(np.int64), ranked_gap(a[0], 1)),
    "topk": topk, "less": compare(np.less), "greater": compare(np.greater), "equal": compare(np.equal),
    "mod": arithmetic(np.mod),
}

LOW = np.uint64(0xFFFFFFFF)


def philox(seed, stream, position, count):
    """Numbers position .. position+count-1 of a stream, each word of Philox4x32-10 as (word >> 8) * 2^-24."""
    first = position // 4
    blocks = np.arange(first, (position + count + 3) // 4 + 1, dtype=np.uint64)
    c = [blocks & LOW, blocks >> np.uint64(32), np.full_like(blocks, stream & 0xFFFFFFFF),
         np.full_like(blocks, stream >> 32)]
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p0, p1 = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), p1 & LOW, (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), p0 & LOW]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    words = np.stack(c, axis=1).reshape(-1)[position - 4 * first:][:count]
    return (words >> np.uint64(8)).astype(np.float64) * 2.0 ** -24
