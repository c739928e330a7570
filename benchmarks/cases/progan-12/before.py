import os

import torch

from losses import WassersteinGP
from networks import Discriminator, Generator


def rss_mb():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2 ** 20


class ProGAN:
    def __init__(self, latent=16, lr=0.001):
        self.latent = latent
        self.gen, self.dis = Generator(latent), Discriminator()
        self.gen_optim = torch.optim.Adam(self.gen.parameters(), lr, betas=(0.0, 0.99))
        self.dis_optim = torch.optim.Adam(self.dis.parameters(), lr, betas=(0.0, 0.99))
        self.loss = WassersteinGP(self.dis)

    def optimize_discriminator(self, noise, real, depth, alpha):
        fake = self.gen(noise, depth, alpha).detach()
        loss = self.loss.dis_loss(real, fake, depth, alpha)
        self.dis_optim.zero_grad()
        loss.backward()
        self.dis_optim.step()
        return loss.item()

    def optimize_generator(self, noise, depth, alpha):
        loss = self.loss.gen_loss(self.gen(noise, depth, alpha), depth, alpha)
        self.gen_optim.zero_grad()
        loss.backward()
        self.gen_optim.step()
        return loss.item()

    def train(self, sampler, epochs, steps, batch):
        for depth, n_epochs in enumerate(epochs):
            size = 8 * 2 ** depth
            for epoch in range(n_epochs):
                alpha = min(1.0, (epoch + 1) / n_epochs)
                d_sum = g_sum = 0.0
                for _ in range(steps):
                    noise = torch.randn(batch, self.latent)
                    d_sum += self.optimize_discriminator(noise, sampler(batch, size), depth, alpha)
                    g_sum += self.optimize_generator(noise, depth, alpha)
                print("depth %d epoch %d  d %.4f  g %.4f  rss %.0f MB"
                      % (depth, epoch, d_sum / steps, g_sum / steps, rss_mb()))


def stripes(n, size):
    phase = torch.rand(n, 1, 1, 1) * 6.28
    xs = torch.linspace(0, 12.0, size).view(1, 1, 1, size)
    return torch.sin(xs + phase).expand(n, 3, size, size).contiguous()


if __name__ == "__main__":
    torch.manual_seed(1)
    gan = ProGAN()
    gan.train(stripes, epochs=[1, 1, 3], steps=12, batch=24)
    print("gen %.4f dis %.4f" % tuple(sum(p.abs().sum().item() for p in m.parameters())
                                      for m in (gan.gen, gan.dis)))
