"""Ops of the PyTorch runner, written as a user of PyTorch would: table OPS of name -> function(machine, inputs, attributes)."""
import torch
import torch.nn.functional as F


class Through(torch.autograd.Function):
    """New numbers with the gradient of the identity: rounding as quantisers write it."""

    @staticmethod
    def forward(ctx, x, rounded):
        return rounded.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


def as_tensor(m, x):
    return x if isinstance(x, torch.Tensor) else torch.tensor(x, dtype=m.dtype)


def arithmetic(function):
    def run(m, a, s):
        integer = any(isinstance(x, torch.Tensor) and x.dtype == torch.int64 for x in a)
        if integer:
            a = [int(x) if isinstance(x, (int, float)) and float(x).is_integer() else x for x in a]
        if not isinstance(a[0], torch.Tensor):
            a = [torch.tensor(a[0], dtype=torch.int64 if integer and isinstance(a[0], int) else m.dtype), *a[1:]]
        return function(*a)
    return run


def unary(function):
    return lambda m, a, s: function(as_tensor(m, a[0]))


def reduction(function):
    def run(m, a, s):
        x = as_tensor(m, a[0])
        return function(x, dim=s["axis"], keepdim=bool(s.get("keep", False))) if "axis" in s else function(x)
    return run


def batchnorm(m, a, s):
    x, eps = as_tensor(m, a[0]), s.get("eps", 1e-5)
    if x.dim() == 2 and x.shape[0] > 1:
        return F.batch_norm(x, None, None, training=True, eps=eps)
    centred = x - x.mean(dim=0, keepdim=True)
    return centred / torch.sqrt((centred * centred).mean(dim=0, keepdim=True) + eps)


def cast(m, a, s):
    x = as_tensor(m, a[0])
    if s["to"] == "bf16":
        return Through.apply(x, x.detach().to(torch.bfloat16).to(m.dtype))
    return x.detach().to(torch.int64) if s["to"] == "i64" else x.clone()


def rounded(m, a, s):
    x = as_tensor(m, a[0])
    return Through.apply(x, torch.round(x.detach()))


def compare(function):
    def run(m, a, s):
        return function(as_tensor(m, a[0]).detach(), as_tensor(m, a[1]).detach()).to(m.dtype)
    return run


def where(m, a, s):
    return torch.where(as_tensor(m, a[0]) != 0, as_tensor(m, a[1]), as_tensor(m, a[2]))


def frozen(function):
    def run(m, a, s):
        with torch.no_grad():
            return function(m, [x.detach() if isinstance(x, torch.Tensor) else x for x in a], s)
    return run


OPS = {
    "add": arithmetic(torch.add), "sub": arithmetic(torch.sub), "mul": arithmetic(torch.mul),
    "div": arithmetic(torch.div), "neg": unary(torch.neg), "sin": unary(torch.sin), "cos": unary(torch.cos),
    "exp": unary(torch.exp), "log": unary(torch.log), "sqrt": unary(torch.sqrt), "tanh": unary(torch.tanh),
    "relu": unary(torch.relu), "abs": unary(torch.abs),
    "matmul": lambda m, a, s: torch.matmul(a[0], a[1]),
    "sum": reduction(torch.sum), "mean": reduction(torch.mean),
    "max": lambda m, a, s: torch.amax(a[0], dim=s["axis"], keepdim=bool(s.get("keep"))) if "axis" in s else a[0].max(),
    # Values of the language never share bytes, so what PyTorch would give as a view is copied.
    "reshape": lambda m, a, s: as_tensor(m, a[0]).reshape(s["shape"]).clone(),
    "transpose": lambda m, a, s: a[0].t().clone(),
    "concat": lambda m, a, s: torch.cat([as_tensor(m, x) for x in a], dim=s.get("axis", 0)),
    "gather": lambda m, a, s: a[0][as_tensor(m, a[1]).long()],
    "softmax": lambda m, a, s: torch.softmax(a[0], dim=-1),
    "layernorm": lambda m, a, s: F.layer_norm(a[0], a[0].shape[-1:], eps=s.get("eps", 1e-5)),
    "batchnorm": batchnorm, "where": where, "cast": cast, "round": rounded,
    "stop": frozen(lambda m, a, s: as_tensor(m, a[0]).clone()),
    "argmax": frozen(lambda m, a, s: torch.argmax(a[0], dim=-1)),
    "topk": frozen(lambda m, a, s: torch.topk(a[0], s.get("k", 1), dim=-1).indices),
    "less": compare(torch.lt), "greater": compare(torch.gt), "equal": compare(torch.eq),
    "mod": frozen(arithmetic(torch.remainder)),
}
