import sys

import torch

from losses import get_loss, new_storer, reconstruction
from model import VAE


def make_images(count, generator):
    grid = torch.arange(8).float()
    centre = torch.rand(count, 2, generator=generator) * 7
    size = 1 + 2 * torch.rand(count, generator=generator)
    dx = (grid[None, :] - centre[:, :1]).abs() < size[:, None]
    dy = (grid[None, :] - centre[:, 1:]).abs() < size[:, None]
    return (dx[:, None, :] & dy[:, :, None]).float().flatten(1)


class Trainer:
    def __init__(self, model, optimizer, loss_f):
        self.model, self.optimizer, self.loss_f = model, optimizer, loss_f

    def epoch(self, images, batch_size):
        self.model.train()
        storer = new_storer()
        for index in torch.randperm(len(images)).split(batch_size):
            self.loss_f.call_optimize(images[index], self.model, self.optimizer, storer)
        return {name: sum(values) / len(values) for name, values in storer.items()}

    @torch.no_grad()
    def evaluate(self, images):
        self.model.eval()
        return reconstruction(self.model(images)[0], images).item()


def main(loss_name):
    torch.manual_seed(1234)
    generator = torch.Generator().manual_seed(8)
    train, test = make_images(512, generator), make_images(64, generator)
    model = VAE()
    trainer = Trainer(model, torch.optim.Adam(model.parameters(), lr=2e-3), get_loss(loss_name))
    for number in range(4):
        report = trainer.epoch(train, 64)
        text = " ".join(f"{name} {value:.4f}" for name, value in sorted(report.items()))
        print(f"epoch {number} {text} test {trainer.evaluate(test):.4f}")
    print("checksum %.5f" % sum(p.abs().sum().item() for p in model.parameters()))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "factor")
