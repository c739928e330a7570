import os

import torch
import torch.nn as nn

from features import FeatureExtractor
from icnn import reconstruct

LAYERS = ["conv1", "conv2", "block.conv3"]
LATENT = 12


class Block(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv3 = nn.Conv2d(ch, ch, 3, padding=1)

    def forward(self, x):
        return torch.relu(self.conv3(x))


class Encoder(nn.Module):
    def __init__(self, ch=32):
        super().__init__()
        self.conv1 = nn.Conv2d(3, ch, 3, padding=1)
        self.conv2 = nn.Conv2d(ch, ch, 3, stride=2, padding=1)
        self.block = Block(ch)

    def forward(self, x):
        return self.block(torch.relu(self.conv2(torch.relu(self.conv1(x))))).mean((2, 3))


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(LATENT, 3 * 12 * 12)

    def forward(self, z):
        return nn.functional.interpolate(torch.tanh(self.fc(z)).view(-1, 3, 12, 12), scale_factor=4)


def rss_mb():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2 ** 20


def main():
    torch.manual_seed(0)
    encoder, generator = Encoder().eval(), Generator().eval()
    for p in list(encoder.parameters()) + list(generator.parameters()):
        p.requires_grad_(False)
    subjects = []
    with torch.no_grad():
        for _ in range(6):
            subjects.append(generator(torch.randn(1, LATENT))[0].numpy())
    wanted = [FeatureExtractor(encoder, LAYERS).run(img) for img in subjects]
    for n, (img, feats) in enumerate(zip(subjects, wanted)):
        rec, history = reconstruct(feats, encoder, generator, LATENT, LAYERS)
        corr = torch.corrcoef(torch.stack([torch.tensor(img).flatten(), torch.tensor(rec).flatten()]))[0, 1]
        print("image %d  loss %.4f -> %.4f  corr %.3f  rss %.0f MB"
              % (n, history[0], history[-1], corr.item(), rss_mb()))


if __name__ == "__main__":
    main()
