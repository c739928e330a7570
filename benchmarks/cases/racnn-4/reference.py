import argparse

import torch
import torch.nn.functional as F
from torch import nn


class Scale(nn.Module):
    def __init__(self, classes, width=8):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
        )
        self.classifier = nn.Linear(8 * width, classes)

    def forward(self, x):
        feature = self.features(x).flatten(1)
        return feature, self.classifier(feature)


class RACNN(nn.Module):
    """Classifies an image at several zoom levels; each level proposes the crop of the next."""

    def __init__(self, classes, scales=3, size=16):
        super().__init__()
        self.size = size
        self.scales = nn.ModuleList(Scale(classes) for _ in range(scales))
        self.apns = nn.ModuleList(
            nn.Sequential(nn.Linear(64, 16), nn.Tanh(), nn.Linear(16, 3)) for _ in range(scales - 1)
        )

    def crop(self, x, box):
        centre, half = torch.tanh(box[:, :2]) * 0.5, 0.4 + 0.4 * torch.sigmoid(box[:, 2])
        theta = torch.zeros(len(x), 2, 3)
        theta[:, 0, 0] = half
        theta[:, 1, 1] = half
        theta[:, :, 2] = centre
        grid = F.affine_grid(theta, [len(x), 1, self.size, self.size], align_corners=False)
        return F.grid_sample(x, grid, align_corners=False)

    def forward(self, x):
        scores = []
        for level, scale in enumerate(self.scales):
            feature, score = scale(x)
            scores.append(score)
            if level < len(self.apns):
                x = self.crop(x, self.apns[level](feature))
        return scores


class RankLoss(nn.Module):
    def __init__(self, margin=0.05):
        super().__init__()
        self.margin = margin

    def forward(self, coarse, fine, target):
        p_coarse = F.softmax(coarse, 1).gather(1, target.view(-1, 1))
        p_fine = F.softmax(fine, 1).gather(1, target.view(-1, 1))
        return torch.clamp(p_coarse - p_fine + self.margin, min=0).mean()


class Manager:
    def __init__(self, model, train, test):
        self.model, self.train_data, self.test_data = model, train, test
        self.criterion_class = nn.CrossEntropyLoss()
        self.criterion_rank = RankLoss()
        self.opt_class = torch.optim.Adam(model.scales.parameters(), lr=5e-3)
        self.opt_apn = torch.optim.Adam(model.apns.parameters(), lr=2e-3)

    def do_batch(self, optimizer, batch, label, optimize_class):
        optimizer.zero_grad()
        scores = self.model(batch)
        if optimize_class:
            loss = sum(self.criterion_class(score, label) for score in scores)
            loss.backward()
            total = loss.item()
        else:
            total = 0.0
            for i in range(1, len(scores)):
                loss = self.criterion_rank(scores[i - 1], scores[i], label)
                loss.backward(retain_graph=i < len(scores) - 1)
                total += loss.sum().item()
        optimizer.step()
        return total

    def do_epoch(self, optimizer, batch_size, optimize_class):
        self.model.train()
        images, labels = self.train_data
        total = 0.0
        for index in torch.randperm(len(images)).split(batch_size):
            total += self.do_batch(optimizer, images[index], labels[index], optimize_class)
        return total / len(images)

    @torch.no_grad()
    def eval(self):
        self.model.eval()
        images, labels = self.test_data
        return [round((s.argmax(1) == labels).float().mean().item(), 4) for s in self.model(images)]

    def train(self, rounds, batch_size):
        for number in range(rounds):
            c = self.do_epoch(self.opt_class, batch_size, optimize_class=True)
            r = self.do_epoch(self.opt_apn, batch_size, optimize_class=False)
            print(f"round {number} class {c:.5f} rank {r:.5f} accuracy {self.eval()}")


def make_data(count, generator, classes=4):
    labels = torch.randint(0, classes, (count,), generator=generator)
    images = 0.2 * torch.randn(count, 1, 16, 16, generator=generator)
    for image, label in zip(images, labels):
        r, c = torch.randint(2, 10, (2,), generator=generator).tolist()
        patch = image[0, r:r + 4, c:c + 4]
        patch += (1.0 if label < 2 else -1.0) * (torch.eye(4) if label % 2 else torch.ones(4, 4))
    return images, labels


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch_size", type=int, default=16)
    args = parser.parse_args()
    torch.manual_seed(33)
    source = torch.Generator().manual_seed(2)
    manager = Manager(RACNN(classes=4), make_data(96, source), make_data(48, source))
    manager.train(rounds=4, batch_size=args.batch_size)
    print("checksum %.5f" % sum(p.abs().sum().item() for p in manager.model.parameters()))
