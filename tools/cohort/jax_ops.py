"""Ops of the JAX runner: table OPS of name -> function(machine, inputs, attributes)."""
import jax
import jax.numpy as jnp
from jax import lax


def as_array(m, x):
    return jnp.asarray(x, dtype=m.dtype) if isinstance(x, (int, float)) else x


def is_integer(x):
    return not isinstance(x, (int, float)) and x.dtype == jnp.int64


def arithmetic(function):
    def run(m, a, s):
        if any(is_integer(x) for x in a):
            a = [jnp.asarray(int(x), jnp.int64) if isinstance(x, (int, float)) and float(x).is_integer() else x for x in a]
        a = [as_array(m, x) for x in a]
        if any(is_integer(x) for x in a) and not all(is_integer(x) for x in a):
            a = [x.astype(m.dtype) for x in a]
        return function(*a)
    return run


def unary(function):
    return lambda m, a, s: function(as_array(m, a[0]))


def reduction(function):
    return lambda m, a, s: function(as_array(m, a[0]), axis=s.get("axis"), keepdims=bool(s.get("keep")) and "axis" in s)


def normalise(axis):
    def run(m, a, s):
        x = as_array(m, a[0])
        centred = x - x.mean(axis=axis, keepdims=True)
        return centred / jnp.sqrt((centred * centred).mean(axis=axis, keepdims=True) + s.get("eps", 1e-5))
    return run


@jax.custom_jvp
def through(x, rounded):
    return rounded


@through.defjvp
def through_jvp(primals, tangents):
    return primals[1], tangents[0]


def cast(m, a, s):
    x = as_array(m, a[0])
    if s["to"] == "bf16":
        return through(x, lax.stop_gradient(x).astype(jnp.bfloat16).astype(m.dtype))
    return lax.stop_gradient(x).astype(jnp.int64) if s["to"] == "i64" else x


def rounded(m, a, s):
    x = as_array(m, a[0])
    return through(x, jnp.round(lax.stop_gradient(x)))


def compare(function):
    def run(m, a, s):
        x, y = (lax.stop_gradient(as_array(m, v)) for v in a)
        return function(x, y).astype(m.dtype)
    return run


def frozen(function):
    return lambda m, a, s: lax.stop_gradient(function(m, [as_array(m, x) for x in a], s))


OPS = {
    "add": arithmetic(jnp.add), "sub": arithmetic(jnp.subtract), "mul": arithmetic(jnp.multiply),
    "div": arithmetic(jnp.divide), "neg": unary(jnp.negative), "sin": unary(jnp.sin), "cos": unary(jnp.cos),
    "exp": unary(jnp.exp), "log": unary(jnp.log), "sqrt": unary(jnp.sqrt), "tanh": unary(jnp.tanh),
    "relu": unary(jax.nn.relu), "abs": unary(jnp.abs),
    "matmul": lambda m, a, s: jnp.matmul(a[0], a[1]),
    "sum": reduction(jnp.sum), "mean": reduction(jnp.mean), "max": reduction(jnp.max),
    "reshape": lambda m, a, s: as_array(m, a[0]).reshape(s["shape"]),
    "transpose": lambda m, a, s: a[0].T,
    "concat": lambda m, a, s: jnp.concatenate([as_array(m, x) for x in a], axis=s.get("axis", 0)),
    "gather": lambda m, a, s: jnp.take(a[0], as_array(m, a[1]).astype(jnp.int64), axis=0),
    "softmax": lambda m, a, s: jax.nn.softmax(a[0], axis=-1),
    "layernorm": normalise(-1), "batchnorm": normalise(0),
    "where": lambda m, a, s: jnp.where(as_array(m, a[0]) != 0, as_array(m, a[1]), as_array(m, a[2])),
    "cast": cast, "round": rounded,
    "stop": frozen(lambda m, a, s: a[0]),
    "argmax": frozen(lambda m, a, s: jnp.argmax(a[0], axis=-1).astype(jnp.int64)),
    "topk": frozen(lambda m, a, s: lax.top_k(lax.stop_gradient(a[0]), s.get("k", 1))[1].astype(jnp.int64)),
    "less": compare(jnp.less), "greater": compare(jnp.greater), "equal": compare(jnp.equal),
    "mod": frozen(arithmetic(jnp.mod)),
}
