import torch
from torch import nn


def gradient(outputs, inputs):
    return torch.autograd.grad(outputs, inputs, torch.ones_like(outputs), create_graph=True)


class FCN(nn.Module):
    def __init__(self, layers):
        super().__init__()
        parts = []
        for a, b in zip(layers[:-1], layers[1:]):
            parts += [nn.Linear(a, b), nn.Tanh()]
        self.net = nn.Sequential(*parts[:-1])

    def forward(self, *columns):
        return self.net(torch.cat(columns, 1))


class PINNModule(nn.Module):
    """Network plus an output function (network outputs to fields) and a PDE residual."""

    def __init__(self, net, output_fn, pde_fn, extra=None, lr=5e-3):
        super().__init__()
        self.net, self.output_fn, self.pde_fn, self.lr = net, output_fn, pde_fn, lr
        self.extra = nn.ParameterDict({k: nn.Parameter(torch.tensor(v)) for k, v in (extra or {}).items()})

    def forward(self, x, y):
        with torch.enable_grad():
            x = x.requires_grad_(True)
            y = y.requires_grad_(True)
            return self.output_fn(self.net(x, y), x, y), x, y

    def training_step(self, batch):
        x, y, u, v = batch
        fields, x, y = self(x, y)
        data = (fields["u"] - u).pow(2).mean() + (fields["v"] - v).pow(2).mean()
        return data + self.pde_fn(fields, x, y, self.extra).pow(2).mean()

    def validation_step(self, batch):
        x, y, u, v = batch
        fields, _, _ = self(x, y)
        wrong = (fields["u"] - u).pow(2).sum() + (fields["v"] - v).pow(2).sum()
        return (wrong / (u.pow(2).sum() + v.pow(2).sum())).sqrt().item()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)
