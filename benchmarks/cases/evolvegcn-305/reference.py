import torch
import torch.nn.functional as F
from torch import nn


class Snapshot:
    def __init__(self, x, edge_index, edge_attr, y):
        self.x, self.edge_index, self.edge_attr, self.y = x, edge_index, edge_attr, y


class RegionLoader:
    """Weekly case counts on a fixed graph; node features are the lagged counts."""

    def __init__(self, nodes=20, lags=8, weeks=40, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.edge_index = torch.randint(0, nodes, (2, 4 * nodes), generator=g)
        self.edge_attr = torch.rand(4 * nodes, generator=g)
        phase = 6.28 * torch.rand(nodes, 1, generator=g)
        t = torch.arange(weeks).float()
        self.series = torch.sin(0.4 * t + phase) + 0.1 * torch.randn(nodes, weeks, generator=g)
        self.lags = lags

    def snapshots(self):
        for start in range(self.series.shape[1] - self.lags):
            x = self.series[:, start:start + self.lags]
            yield Snapshot(x, self.edge_index, self.edge_attr, self.series[:, start + self.lags])

    def split(self, ratio):
        items = list(self.snapshots())
        cut = int(ratio * len(items))
        return items[:cut], items[cut:]


class FixedWeightConv(nn.Module):
    def forward(self, weight, x, edge_index, edge_weight):
        source, target = edge_index
        loops = torch.arange(len(x))
        source, target = torch.cat([source, loops]), torch.cat([target, loops])
        edge_weight = torch.cat([edge_weight, torch.ones(len(x))])
        degree = torch.zeros(len(x)).index_add(0, target, edge_weight)
        norm = degree.rsqrt()[source] * edge_weight * degree.rsqrt()[target]
        messages = norm.unsqueeze(1) * (x @ weight)[source]
        return torch.zeros_like(x).index_add(0, target, messages)


class EvolvingGCN(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.channels = channels
        self.initial_weight = nn.Parameter(torch.empty(1, channels, channels))
        self.recurrent = nn.GRU(channels, channels, num_layers=1)
        self.conv = FixedWeightConv()
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.xavier_uniform_(self.initial_weight)

    def forward(self, x, edge_index, edge_weight, weight=None):
        if weight is None:
            weight = self.initial_weight
        _, weight = self.recurrent(weight, weight)
        return self.conv(weight.squeeze(0), x, edge_index, edge_weight), weight


class RecurrentGCN(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.recurrent = EvolvingGCN(features)
        self.linear = nn.Linear(features, 1)

    def forward(self, x, edge_index, edge_weight, weight=None):
        h, weight = self.recurrent(x, edge_index, edge_weight, weight)
        return self.linear(F.relu(h) + x).squeeze(1), weight


def run(model, items):
    cost, weight = 0, None
    for time, snapshot in enumerate(items):
        prediction, weight = model(snapshot.x, snapshot.edge_index, snapshot.edge_attr, weight)
        cost = cost + torch.mean((prediction - snapshot.y) ** 2)
    return cost / (time + 1)


def main():
    torch.manual_seed(42)
    train, test = RegionLoader().split(0.75)
    model = RecurrentGCN(features=8)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    model.train()
    for epoch in range(6):
        cost = run(model, train)
        cost.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"epoch {epoch} mse {cost.item():.4f}")
    model.eval()
    with torch.no_grad():
        print(f"test mse {run(model, test).item():.4f}")
    print("checksum %.5f" % sum(p.abs().sum().item() for p in model.parameters()))


if __name__ == "__main__":
    main()
