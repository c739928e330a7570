from torch import nn

from spectral import spectral_norm


class Generator(nn.Module):
    def __init__(self, noise=8, width=16):
        super().__init__()
        self.noise = noise
        self.fc = nn.Linear(noise, width * 4)
        self.net = nn.Sequential(
            nn.ConvTranspose2d(width, width, 4, 2, 1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.ConvTranspose2d(width, 1, 4, 2, 1), nn.Tanh(),
        )

    def forward(self, z):
        return self.net(self.fc(z).view(len(z), -1, 2, 2))


class Critic(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.features = nn.Sequential(
            spectral_norm(nn.Conv2d(1, width, 3, 2, 1)), nn.LeakyReLU(0.1),
            spectral_norm(nn.Conv2d(width, width, 3, 2, 1)), nn.LeakyReLU(0.1),
        )
        self.score = spectral_norm(nn.Linear(width * 4, 1))

    def forward(self, x):
        return self.score(self.features(x).flatten(1)).squeeze(1)
