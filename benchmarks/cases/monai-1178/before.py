import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from engine import SupervisedEvaluator, SupervisedTrainer
from transforms import Activationsd, AsDiscreted, Compose, CopyItemsd


class SmallUNet(nn.Module):
    def __init__(self, classes=2, width=8):
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU())
        self.down2 = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU())
        self.up = nn.ConvTranspose2d(2 * width, width, 2, 2)
        self.out = nn.Conv2d(2 * width, classes, 3, padding=1)

    def forward(self, x):
        skip = self.down1(x)
        return self.out(torch.cat([skip, self.up(self.down2(skip))], 1))


def make_scans(count, generator):
    grid = torch.arange(16).float()
    centre = 4 + 8 * torch.rand(count, 2, 1, 1, generator=generator)
    radius = 2 + 2 * torch.rand(count, 1, 1, generator=generator)
    distance = ((grid[:, None] - centre[:, 0]) ** 2 + (grid[None, :] - centre[:, 1]) ** 2).sqrt()
    label = (distance < radius).long()
    image = label.float() + 0.4 * torch.randn(count, 16, 16, generator=generator)
    return TensorDataset(image.unsqueeze(1), label)


def main():
    torch.manual_seed(13)
    generator = torch.Generator().manual_seed(9)
    train = DataLoader(make_scans(48, generator), batch_size=8, shuffle=True)
    valid = DataLoader(make_scans(16, generator), batch_size=8)
    post = Compose([
        CopyItemsd(keys="pred", times=2, names=["prob", "mask"]),
        Activationsd(keys="prob"),
        AsDiscreted(keys=["mask", "label"], classes=2),
    ])
    network = SmallUNet()
    optimizer = torch.optim.Adam(network.parameters(), lr=5e-3)
    print(f"untrained dice {SupervisedEvaluator(network, valid, post).run():.4f}")
    SupervisedTrainer(network, optimizer, nn.CrossEntropyLoss(), train, post).run(epochs=4)
    print(f"valid dice {SupervisedEvaluator(network, valid, post).run():.4f}")
    print("checksum %.5f" % sum(p.abs().sum().item() for p in network.parameters()))


if __name__ == "__main__":
    main()
