import torch
from torch import nn


class VAE(nn.Module):
    def __init__(self, pixels=64, hidden=64, latent=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.to_stats = nn.Linear(hidden, 2 * latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, pixels))

    def reparameterize(self, mean, logvar):
        if self.training:
            return mean + torch.exp(0.5 * logvar) * torch.randn_like(mean)
        return mean

    def sample_latent(self, x):
        mean, logvar = self.to_stats(self.encoder(x)).chunk(2, 1)
        return self.reparameterize(mean, logvar)

    def forward(self, x):
        mean, logvar = self.to_stats(self.encoder(x)).chunk(2, 1)
        z = self.reparameterize(mean, logvar)
        return self.decoder(z), (mean, logvar), z


class LatentDiscriminator(nn.Module):
    def __init__(self, latent=6, width=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(latent, width), nn.LeakyReLU(0.2, True),
            nn.Linear(width, width), nn.LeakyReLU(0.2, True),
            nn.Linear(width, 2),
        )

    def forward(self, z):
        return self.net(z)
