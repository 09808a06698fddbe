"""Trains a classifier on the encoder `small` by PyTorch for a moment and says how well it does on the test images.

    python3 train_classifier.py FOLDER weights.pt probe.start        (needs torch and numpy)

FOLDER holds train.bin and test.bin in the format of CIFAR-100; probe.start the numbers that the linear probe starts
from, 100 x 64 weights and then 100 biases in f32. Prints top-1 and top-5 in percent, of the classifier and then of a
probe of its encoder. The test tests/tools/adoption_test.cpp gives the weights, converted by tools/from_torch.py, to
this project's evaluation and to its probe.
"""
import math
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

MEAN, STD = (0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)
# These numbers stand in adoption_test.cpp too.
PROBE_EPOCHS, PROBE_LR = 100, 0.05


class Block(nn.Module):
    """A basic block under torchvision's names."""

    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.downsample = None
        if stride != 1 or cin != cout:
            self.downsample = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class Classifier(nn.Module):
    def __init__(self, widths=(16, 32, 64), blocks=2):
        super().__init__()
        self.conv1 = nn.Conv2d(3, widths[0], 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(widths[0])
        self.stages, cin = len(widths), widths[0]
        for i, width in enumerate(widths):
            stage = [Block(cin if b == 0 else width, width, 2 if i and b == 0 else 1) for b in range(blocks)]
            setattr(self, f"layer{i + 1}", nn.Sequential(*stage))
            cin = width
        self.head = nn.Linear(cin, 100)

    def features(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        for i in range(self.stages):
            x = getattr(self, f"layer{i + 1}")(x)
        return x.mean((2, 3))

    def forward(self, x):
        return self.head(self.features(x))


def read(path):
    records = np.fromfile(path, np.uint8).reshape(-1, 3074)
    images = torch.from_numpy(records[:, 2:].reshape(-1, 3, 32, 32).astype(np.float32)) / 255
    mean, std = (torch.tensor(v).reshape(1, 3, 1, 1) for v in (MEAN, STD))
    return (images - mean) / std, torch.from_numpy(records[:, 1].astype(np.int64))


def accuracy(logits, labels):
    hits = (logits.topk(5).indices == labels[:, None]).float()
    return 100 * hits[:, 0].mean().item(), 100 * hits.sum(1).mean().item()


def probe(features, labels, test, start):
    """The logits of `test` by the recipe of models/eval/probe.h; all rows are one batch, so no order plays a part."""
    mean, deviation = features.double().mean(0), features.double().std(0) + 1e-6
    features, test = (((rows - mean) / deviation).float() for rows in (features, test))
    layer = nn.Linear(features.shape[1], 100)
    with torch.no_grad():
        layer.weight.copy_(start[:layer.weight.numel()].reshape(layer.weight.shape))
        layer.bias.copy_(start[layer.weight.numel():])
    optimiser = torch.optim.Adam(layer.parameters(), lr=PROBE_LR)
    for step in range(PROBE_EPOCHS):
        part = max(step - 1, 0) / (PROBE_EPOCHS - 1)  # the first step is the warm-up, at the peak
        optimiser.param_groups[0]["lr"] = 0.5 * PROBE_LR * (1 + math.cos(math.pi * part))
        optimiser.zero_grad()
        F.cross_entropy(layer(features), labels).backward()
        optimiser.step()
    return layer(test)


def main():
    folder, out, start = sys.argv[1:]
    torch.manual_seed(5)
    torch.set_num_threads(1)
    model = Classifier()
    optimiser = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    images, labels = read(folder + "/train.bin")
    for _ in range(4):
        for batch in torch.randperm(len(labels)).split(50):
            optimiser.zero_grad()
            F.cross_entropy(model(images[batch]), labels[batch]).backward()
            optimiser.step()
    torch.save(model.state_dict(), out)
    model.eval()
    test_images, test_labels = read(folder + "/test.bin")
    with torch.no_grad():
        logits = model(test_images)
        features, test_features = model.features(images), model.features(test_images)
    start = torch.from_numpy(np.fromfile(start, np.float32))
    print(*accuracy(logits, test_labels), *accuracy(probe(features, labels, test_features, start), test_labels))


if __name__ == "__main__":
    main()
