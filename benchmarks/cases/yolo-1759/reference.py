import math

import torch
import torch.nn.functional as F
from torch import nn


class Conv(nn.Module):
    def __init__(self, c1, c2, s=1):
        super().__init__()
        self.conv = nn.Conv2d(c1, c2, 3, s, 1, bias=False)
        self.bn = nn.BatchNorm2d(c2)

    def forward(self, x):
        return F.silu(self.bn(self.conv(x)))


class Detect(nn.Module):
    stride = None

    def __init__(self, nc, anchors, channels):
        super().__init__()
        self.nc, self.no, self.na = nc, nc + 5, len(anchors[0])
        self.register_buffer("anchors", torch.tensor(anchors))
        self.m = nn.ModuleList(nn.Conv2d(c, self.no * self.na, 1) for c in channels)

    def forward(self, features):
        out = []
        for conv, x in zip(self.m, features):
            b, _, h, w = x.shape
            out.append(conv(x).view(b, self.na, self.no, h, w).permute(0, 1, 3, 4, 2))
        return out


class Model(nn.Module):
    def __init__(self, nc, anchors, width=8):
        super().__init__()
        self.stem = nn.Sequential(Conv(1, width, 2), Conv(width, 2 * width, 2))
        self.deep = Conv(2 * width, 4 * width, 2)
        self.detect = Detect(nc, anchors, (2 * width, 4 * width))
        size = 64
        self.detect.stride = torch.tensor([size / p.shape[2] for p in self.forward(torch.zeros(2, 1, size, size))])
        self._initialize_biases()

    def forward(self, x):
        fine = self.stem(x)
        return self.detect([fine, self.deep(fine)])

    def _initialize_biases(self, cf=None):
        m = self.detect
        for mi, s in zip(m.m, m.stride):
            b = mi.bias.view(m.na, -1)
            b.data[:, 4] += math.log(2 / (64 / s) ** 2)
            b.data[:, 5:] += math.log(0.6 / (m.nc - 0.99)) if cf is None else torch.log(cf / cf.sum())
            mi.bias = nn.Parameter(b.view(-1), requires_grad=True)


class ComputeLoss:
    def __init__(self, model):
        self.stride, self.anchors, self.na = model.detect.stride, model.detect.anchors, model.detect.na

    def __call__(self, predictions, targets):
        box = obj = cls = torch.zeros(())
        image, kind, xywh = targets[:, 0].long(), targets[:, 1].long(), targets[:, 2:]
        for level, p in enumerate(predictions):
            truth = torch.zeros(p.shape[:-1])
            cell = (xywh[:, :2] / self.stride[level]).long().clamp(0, p.shape[2] - 1)
            for a in range(self.na):
                anchor = self.anchors[level][a]
                fits = (xywh[:, 2:] / anchor).log().abs().amax(1) < 0.7
                i, gx, gy = image[fits], cell[fits, 0], cell[fits, 1]
                chosen = p[i, a, gy, gx]
                truth[i, a, gy, gx] = 1.0
                if len(chosen):
                    offset = xywh[fits, :2] / self.stride[level] - cell[fits]
                    box = box + F.mse_loss(chosen[:, :2].sigmoid(), offset)
                    box = box + F.mse_loss(chosen[:, 2:4], (xywh[fits, 2:] / anchor).log())
                    cls = cls + F.cross_entropy(chosen[:, 5:], kind[fits])
            obj = obj + F.binary_cross_entropy_with_logits(p[..., 4], truth)
        return box + obj + 0.5 * cls, (box.item(), obj.item(), cls.item())


def make_scenes(count, generator, nc=3):
    images, targets = torch.zeros(count, 1, 64, 64), []
    for i in range(count):
        for _ in range(2):
            kind = int(torch.randint(0, nc, (1,), generator=generator))
            w, h = (8 + 12 * torch.rand(2, generator=generator)).tolist()
            x, y = (10 + 44 * torch.rand(2, generator=generator)).tolist()
            images[i, 0, int(y - h / 2):int(y + h / 2), int(x - w / 2):int(x + w / 2)] = (kind + 1) / nc
            targets.append([i, kind, x, y, w, h])
    return images, torch.tensor(targets)


def train():
    torch.manual_seed(64)
    generator = torch.Generator().manual_seed(7)
    model = Model(nc=3, anchors=[[[8.0, 8.0], [14.0, 10.0]], [[12.0, 16.0], [18.0, 18.0]]])
    compute_loss = ComputeLoss(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.003, momentum=0.9, nesterov=True)
    images, targets = make_scenes(32, generator)
    for epoch in range(6):
        model.train()
        for start in range(0, 32, 16):
            inside = (targets[:, 0] >= start) & (targets[:, 0] < start + 16)
            batch = targets[inside] - torch.tensor([start, 0.0, 0, 0, 0, 0])
            loss, parts = compute_loss(model(images[start:start + 16]), batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} box {parts[0]:.4f} obj {parts[1]:.4f} cls {parts[2]:.4f}")
    print("checksum %.5f" % sum(p.abs().sum().item() for p in model.parameters()))


if __name__ == "__main__":
    train()
