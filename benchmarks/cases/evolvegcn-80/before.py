import torch

from evolve import RecurrentGCN


class Snapshots:
    """A signal that spreads on a fixed ring with chords; predict the next value per node."""

    def __init__(self, n_nodes=20, lags=4, length=40):
        ring = torch.arange(n_nodes)
        src = torch.cat([ring, (ring + 1) % n_nodes, ring[::5]])
        dst = torch.cat([(ring + 1) % n_nodes, ring, (ring[::5] + 7) % n_nodes])
        self.edge_index = torch.stack([src, dst])
        self.lags = lags
        values = [torch.randn(n_nodes)]
        for t in range(length + lags):
            v = values[-1]
            spread = torch.zeros(n_nodes).index_add(0, dst, v[src]) / 3
            values.append(torch.tanh(1.2 * spread) + 0.4 * torch.sin(torch.tensor(t * 0.7)))
        self.values = torch.stack(values)

    def __iter__(self):
        for t in range(len(self.values) - self.lags):
            yield self.values[t:t + self.lags].t(), self.values[t + self.lags]


def split(items, ratio=0.8):
    items = list(items)
    cut = int(len(items) * ratio)
    return items[:cut], items[cut:]


def checksum(params):
    return sum(p.detach().double().abs().sum().item() for p in params)


def main():
    torch.manual_seed(1)
    data = Snapshots()
    train, test = split(data)
    model = RecurrentGCN(data.lags)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    rnn = list(model.recurrent.recurrent.parameters())
    print("rnn %.5f" % checksum(rnn))
    for epoch in range(45):
        model.train()
        cost = 0
        for x, y in train:
            cost = cost + ((model(x, data.edge_index) - y) ** 2).mean()
        cost = cost / len(train)
        optimizer.zero_grad()
        cost.backward()
        optimizer.step()
        if epoch % 9 == 8:
            print("epoch %d  mse %.5f" % (epoch, cost.item()))
    model.eval()
    with torch.no_grad():
        err = sum(((model(x, data.edge_index) - y) ** 2).mean().item() for x, y in test) / len(test)
    print("test mse %.5f" % err)
    print("rnn %.5f  head %.5f" % (checksum(rnn), checksum(model.linear.parameters())))


if __name__ == "__main__":
    main()
