"""Trains a classifier on the encoder `small` by PyTorch for a moment and says how well it does on the test images.

    python3 train_classifier.py FOLDER weights.pt        (needs torch and numpy)

FOLDER holds train.bin and test.bin in the format of CIFAR-100. Prints top-1 and top-5 in percent. The test
tests/tools/adoption_test.cpp gives the weights, converted by tools/from_torch.py, to this project's evaluation.
"""
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

MEAN, STD = (0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)


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

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        for i in range(self.stages):
            x = getattr(self, f"layer{i + 1}")(x)
        return self.head(x.mean((2, 3)))


def read(path):
    records = np.fromfile(path, np.uint8).reshape(-1, 3074)
    images = torch.from_numpy(records[:, 2:].reshape(-1, 3, 32, 32).astype(np.float32)) / 255
    mean, std = (torch.tensor(v).reshape(1, 3, 1, 1) for v in (MEAN, STD))
    return (images - mean) / std, torch.from_numpy(records[:, 1].astype(np.int64))


def main():
    folder, out = sys.argv[1:]
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
    model.eval()
    images, labels = read(folder + "/test.bin")
    with torch.no_grad():
        best = model(images).topk(5).indices
    hits = (best == labels[:, None]).float()
    torch.save(model.state_dict(), out)
    print(100 * hits[:, 0].mean().item(), 100 * hits.sum(1).mean().item())


if __name__ == "__main__":
    main()
