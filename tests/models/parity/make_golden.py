"""Makes dense_queue_step.safetensors: one whole training step of a tiny dense-queue model by PyTorch, in double precision.

    python3 make_golden.py            (needs torch and numpy)

The file holds, under the names that checkpoints use:
    before.NAME   parameters, key encoder, statistics, queue and pointer before the step
    grad.NAME     the gradient of every parameter
    after.NAME    everything after optimiser and moving average
    momentum.NAME the optimiser's velocity
    view0, view1  the images, channels last; loss
The test tests/models/parity_test.cpp runs the same step with this project's own code and compares.
"""
import json
import struct
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

# These numbers stand in parity_test.cpp too.
WIDTHS, HIDDEN, OUT, ROWS, BATCH, SIDE, POINTER = (4, 8), 6, 4, 10, 4, 8, 7
LR, MOMENTUM, DECAY, KEEP, TEMPERATURE = 0.1, 0.9, 5e-3, 0.9, 0.2


class Block(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        if stride != 1 or cin != cout:
            self.short = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))
        else:
            self.short = None

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (x if self.short is None else self.short(x)))


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, WIDTHS[0], 3, 1, 1, bias=False)
        self.stem_bn = nn.BatchNorm2d(WIDTHS[0])
        cin = WIDTHS[0]
        for i, w in enumerate(WIDTHS):
            setattr(self, f"layer{i + 1}", nn.Sequential(Block(cin, w, 2 if i else 1)))
            cin = w

    def forward(self, x):
        x = F.relu(self.stem_bn(self.stem(x)))
        for i in range(len(WIDTHS)):
            x = getattr(self, f"layer{i + 1}")(x)
        return x.mean((2, 3))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = Backbone()
        self.proj = nn.Sequential(nn.Linear(WIDTHS[-1], HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, OUT))

    def forward(self, x):
        return F.normalize(self.proj(self.backbone(x)), dim=1)


def named(query, key, queue, pointer):
    out = {k: v for k, v in query.state_dict().items() if "num_batches" not in k}
    out |= {"key." + k: v for k, v in key.state_dict().items() if "num_batches" not in k}
    return out | {"queue": queue, "queue_pointer": torch.tensor([pointer])}


def main():
    torch.manual_seed(11)
    torch.set_default_dtype(torch.float64)
    query, key = Encoder(), Encoder()
    for m in list(query.modules()) + list(key.modules()):  # nothing at its neutral value, so that every term shows
        if isinstance(m, nn.BatchNorm2d):
            nn.init.uniform_(m.weight, 0.5, 1.5)
            nn.init.normal_(m.bias, std=0.2)
            nn.init.normal_(m.running_mean, std=0.3)
            nn.init.uniform_(m.running_var, 0.5, 1.5)
    queue = F.normalize(torch.randn(ROWS, OUT), dim=1)
    views = [torch.randn(BATCH, 3, SIDE, SIDE) for _ in range(2)]
    # What the test starts from is f32; so does this.
    with torch.no_grad():
        for t in list(query.state_dict().values()) + list(key.state_dict().values()) + [queue] + views:
            if t.is_floating_point():
                t.copy_(t.float().double())
    pointer = POINTER
    golden = {f"before.{k}": v.clone() for k, v in named(query, key, queue, pointer).items()}
    golden |= {f"view{i}": v.permute(0, 2, 3, 1).clone() for i, v in enumerate(views)}

    losses = []
    for a, b in ((0, 1), (1, 0)):
        with torch.no_grad():
            k = key(views[b])
        q = query(views[a])
        logits = torch.cat([(q * k).sum(1, keepdim=True), q @ queue.clone().t()], 1) / TEMPERATURE
        losses.append(F.cross_entropy(logits, torch.zeros(BATCH, dtype=torch.long)))
        with torch.no_grad():
            queue[(pointer + torch.arange(BATCH)) % ROWS] = k
        pointer = (pointer + BATCH) % ROWS
    loss = (losses[0] + losses[1]) / 2
    loss.backward()
    golden["loss"] = loss.detach().reshape(())
    golden |= {f"grad.{k}": p.grad.clone() for k, p in query.named_parameters()}

    matrices = [p for p in query.parameters() if p.dim() > 1]
    others = [p for p in query.parameters() if p.dim() == 1]
    opt = torch.optim.SGD([{"params": matrices, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}], lr=LR, momentum=MOMENTUM)
    opt.step()
    with torch.no_grad():
        for kp, qp in zip(key.parameters(), query.parameters()):
            kp.copy_(KEEP * kp + (1 - KEEP) * qp)
    golden |= {f"after.{k}": v for k, v in named(query, key, queue, pointer).items()}
    golden |= {f"momentum.{k}": opt.state[p]["momentum_buffer"] for k, p in query.named_parameters()}
    write(Path(__file__).with_name("dense_queue_step.safetensors"), golden)


def write(path, tensors):
    """The safetensors layout: header length, JSON header, then the bytes; wider types first."""
    arrays = {k: v.detach().numpy() for k, v in tensors.items()}
    arrays = {k: np.ascontiguousarray(v.astype(np.int64 if v.dtype.kind == "i" else np.float32)).reshape(v.shape) for k, v in arrays.items()}
    order = sorted(arrays, key=lambda k: (-arrays[k].itemsize, k))
    header, at = {}, 0
    for k in order:
        a = arrays[k]
        header[k] = {"dtype": "I64" if a.dtype == np.int64 else "F32", "shape": list(a.shape), "data_offsets": [at, at + a.nbytes]}
        at += a.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(arrays[k].tobytes() for k in order))


if __name__ == "__main__":
    main()
