import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class MyBatchNorm2d(nn.Module):
    """Batch normalisation in plain tensor operations, to change the statistics later."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True):
        super().__init__()
        self.eps, self.momentum, self.affine = eps, momentum, affine
        if affine:
            self.weight = nn.Parameter(torch.ones(num_features))
            self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))

    def forward(self, x):
        if self.training:
            mean = x.mean([0, 2, 3])
            var = x.var([0, 2, 3], unbiased=False)
            n = x.numel() / x.size(1)
            self.running_mean = self.momentum * mean + (1 - self.momentum) * self.running_mean
            self.running_var = self.momentum * var * n / (n - 1) + (1 - self.momentum) * self.running_var
        else:
            mean, var = self.running_mean, self.running_var
        x = (x - mean[None, :, None, None]) / torch.sqrt(var[None, :, None, None] + self.eps)
        if self.affine:
            x = x * self.weight[None, :, None, None] + self.bias[None, :, None, None]
        return x


class Net(nn.Module):
    def __init__(self, ch=16, classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(1, ch, 3, padding=1)
        self.bn1 = MyBatchNorm2d(ch)
        self.conv2 = nn.Conv2d(ch, ch, 3, padding=1)
        self.bn2 = MyBatchNorm2d(ch)
        self.fc = nn.Linear(ch * 4, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.relu(self.bn2(self.conv2(x)))
        return self.fc(F.adaptive_avg_pool2d(x, 2).flatten(1))


def rss_mb():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2 ** 20


def bars(n, seed):
    gen = torch.Generator().manual_seed(seed)
    y = torch.randint(4, (n,), generator=gen)
    x = torch.randn(n, 1, 24, 24, generator=gen)
    for i in range(n):
        r, c = int(y[i]) // 2 * 12, int(y[i]) % 2 * 12
        x[i, 0, r:r + 12, c:c + 12] += 0.6
    return TensorDataset(x, y)


def train_epoch(model, loader, optimizer):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        hits = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return hits / len(loader.dataset)


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(bars(384, 1), batch_size=32, shuffle=True)
    test_loader = DataLoader(bars(128, 2), batch_size=64)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(5):
        start = time.time()
        loss = train_epoch(model, train_loader, optimizer)
        acc = evaluate(model, test_loader)
        print("epoch %d  loss %.4f  acc %.3f  rss %.0f MB  %.2fs"
              % (epoch, loss, acc, rss_mb(), time.time() - start))
    print("running mean %.5f var %.5f" % (model.bn1.running_mean.sum().item(), model.bn1.running_var.sum().item()))
    print("checksum %.4f" % sum(p.abs().sum().item() for p in model.parameters()))


if __name__ == "__main__":
    main()
