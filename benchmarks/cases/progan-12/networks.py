import torch
import torch.nn as nn
import torch.nn.functional as F


class Generator(nn.Module):
    def __init__(self, latent=16, ch=8):
        super().__init__()
        self.ch = ch
        self.initial = nn.Linear(latent, ch * 16)
        self.blocks = nn.ModuleList(nn.Conv2d(ch, ch, 3, padding=1) for _ in range(3))
        self.to_rgb = nn.ModuleList(nn.Conv2d(ch, 3, 1) for _ in range(3))

    def forward(self, z, depth, alpha):
        y = self.initial(z).view(-1, self.ch, 4, 4)
        prev = y
        for block in self.blocks[: depth + 1]:
            prev = y
            y = F.leaky_relu(block(F.interpolate(y, scale_factor=2)), 0.2)
        rgb = self.to_rgb[depth](y)
        if depth > 0 and alpha < 1:
            old = F.interpolate(self.to_rgb[depth - 1](prev), scale_factor=2)
            rgb = alpha * rgb + (1 - alpha) * old
        return torch.tanh(rgb)


class Discriminator(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.from_rgb = nn.ModuleList(nn.Conv2d(3, ch, 1) for _ in range(3))
        self.blocks = nn.ModuleList(nn.Conv2d(ch, ch, 3, padding=1) for _ in range(3))
        self.final = nn.Linear(ch * 16, 1)

    def forward(self, x, depth, alpha):
        y = F.leaky_relu(self.from_rgb[depth](x), 0.2)
        for block in reversed(self.blocks[: depth + 1]):
            y = F.avg_pool2d(F.leaky_relu(block(y), 0.2), 2)
        return self.final(y.flatten(1)).view(-1)
