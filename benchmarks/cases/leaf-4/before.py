import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

from frontend import Classifier

TONES = [0.9, 1.0, 1.1, 1.2]


def tones(n, length=400, seed=0):
    gen = torch.Generator().manual_seed(seed)
    y = torch.randint(len(TONES), (n,), generator=gen)
    freq = torch.tensor(TONES)[y] + 0.02 * torch.randn(n, generator=gen)
    phase = 6.28 * torch.rand(n, 1, generator=gen)
    wave = torch.sin(freq[:, None] * torch.arange(length) + phase)
    return TensorDataset(wave + 0.5 * torch.randn(n, length, generator=gen), y)


def evaluate(model, loader):
    model.eval()
    hits = seen = 0
    with torch.no_grad():
        for wave, y in loader:
            hits += (model(wave).argmax(1) == y).sum().item()
            seen += len(y)
    return hits / seen


def main():
    torch.manual_seed(0)
    train, test = DataLoader(tones(512, seed=1), 32, shuffle=True), DataLoader(tones(256, seed=2), 64)
    model = Classifier(len(TONES))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    bank = model.frontend.complex_conv._kernel
    print("filters", [round(v, 3) for v in bank[:, 0].tolist()])
    for epoch in range(6):
        model.train()
        total = 0.0
        for wave, y in train:
            loss = F.cross_entropy(model(wave), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 2:
            print("epoch %d  loss %.4f  acc %.3f" % (epoch, total / len(train), evaluate(model, test)))
    print("filters", [round(v, 3) for v in bank[:, 0].tolist()])
    print("checksum %.5f" % sum(p.double().abs().sum().item() for p in model.parameters()))


if __name__ == "__main__":
    main()
