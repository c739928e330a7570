import torch
from torch import nn

from server import FedGenServer


class Net(nn.Module):
    def __init__(self, features=20, latent=16, classes=5):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, 32), nn.ReLU(), nn.Linear(32, latent), nn.ReLU())
        self.head = nn.Linear(latent, classes)

    def classify(self, latent):
        return torch.log_softmax(self.head(latent), 1)

    def forward(self, x):
        return self.classify(self.body(x))


def make_shards(users, generator, features=20, classes=5):
    centres = torch.randn(classes, features, generator=generator)
    shards = []
    for _ in range(users):
        mix = torch.rand(classes, generator=generator).pow(3) + 0.02
        parts = []
        for count in (64, 24):
            y = torch.multinomial(mix, count, replacement=True, generator=generator)
            x = centres[y] + 1.2 * torch.randn(count, features, generator=generator)
            parts.append((x, y))
        shards.append(tuple(parts))
    return shards


def main():
    torch.manual_seed(77)
    shards = make_shards(5, torch.Generator().manual_seed(3))
    server = FedGenServer(Net(), shards, classes=5, latent=16)
    server.train(rounds=5, local_epochs=2)
    accuracy, loss = server.evaluate()
    print(f"final accuracy {accuracy:.4f} loss {loss:.4f}")
    print("checksum %.5f" % sum(p.abs().sum().item() for p in server.model.parameters()))


if __name__ == "__main__":
    main()
