import math

import torch
from torch.utils.data import DataLoader

from gan import RingGAN
from trainer import Trainer


def ring(n, radius=2.0, noise=0.05):
    angle = torch.rand(n) * 2 * math.pi
    pts = torch.stack([angle.cos(), angle.sin()], 1) * radius
    return pts + noise * torch.randn(n, 2)


def real_vs_fake(model, data):
    with torch.no_grad():
        fake = model(torch.randn(len(data), model.latent))
        p_real = torch.sigmoid(model.discriminator(data)).mean().item()
        p_fake = torch.sigmoid(model.discriminator(fake)).mean().item()
    return p_real, p_fake


def main():
    torch.manual_seed(0)
    data = ring(1024)
    loader = DataLoader(data, batch_size=64, shuffle=True)
    model = RingGAN()
    Trainer(max_epochs=24).fit(model, loader)
    print("p(real) %.4f on data, %.4f on samples" % real_vs_fake(model, data))
    for name in ("generator", "discriminator"):
        net = getattr(model, name)
        print("%s checksum %.5f" % (name, sum(p.abs().sum().item() for p in net.parameters())))


if __name__ == "__main__":
    main()
