import torch
import torch.nn as nn
import torch.nn.functional as F


class Learner(nn.Module):
    """Layers are kept in a flat list so that other weights can be passed in."""

    def __init__(self, sizes, n_frozen):
        super().__init__()
        self.vars = nn.ParameterList()
        for i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:])):
            w = nn.Parameter(torch.empty(b, a))
            nn.init.kaiming_normal_(w)
            bias = nn.Parameter(torch.zeros(b))
            for p in (w, bias):
                p.adaptation = i >= n_frozen
                self.vars.append(p)

    def forward(self, x, weights=None):
        weights = self.vars if weights is None else weights
        n = len(weights) // 2
        for i in range(n):
            x = F.linear(x, weights[2 * i], weights[2 * i + 1])
            if i < n - 1:
                x = F.relu(x)
        return x

    def get_adaptation_parameters(self, weights=None):
        weights = self.vars if weights is None else weights
        return [p for p in weights if p.adaptation]
