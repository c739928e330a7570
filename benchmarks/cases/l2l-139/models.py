import torch
from torch import nn


class StackedGRU(nn.Module):
    """GRU over (batch, time, features); weights are kept in one list for the kernel."""

    def __init__(self, features, hidden, layers=1):
        super().__init__()
        self.hidden, self.layers = hidden, layers
        self._weight_names = []
        for layer in range(layers):
            size = features if layer == 0 else hidden
            for name, shape in ((f"weight_ih_l{layer}", (3 * hidden, size)), (f"bias_l{layer}", (3 * hidden,)),
                                (f"weight_hh_l{layer}", (3 * hidden, hidden))):
                bound = hidden ** -0.5
                self.register_parameter(name, nn.Parameter(torch.empty(shape).uniform_(-bound, bound)))
                self._weight_names.append(name)
        self.flatten_parameters()

    def flatten_parameters(self):
        self._flat_weights = [getattr(self, name) for name in self._weight_names]

    def _apply(self, fn, recurse=True):
        result = super()._apply(fn, recurse)
        self.flatten_parameters()
        return result

    def forward(self, x, state=None):
        if state is None:
            state = [x.new_zeros(len(x), self.hidden) for _ in range(self.layers)]
        final = []
        for layer in range(self.layers):
            w_ih, bias, w_hh = self._flat_weights[3 * layer:3 * layer + 3]
            h, outputs = state[layer], []
            for gates in (x @ w_ih.t() + bias).unbind(1):
                zi, ri, ni = gates.chunk(3, 1)
                zh, rh, nh = (h @ w_hh.t()).chunk(3, 1)
                z = torch.sigmoid(zi + zh)
                n = torch.tanh(ni + torch.sigmoid(ri + rh) * nh)
                h = z * h + (1 - z) * n
                outputs.append(h)
            x = torch.stack(outputs, 1)
            final.append(h)
        return x, final


class SequencePredictor(nn.Module):
    def __init__(self, features=1, hidden=16):
        super().__init__()
        self.rnn = StackedGRU(features, hidden)
        self.head = nn.Linear(hidden, features)

    def forward(self, x, state=None):
        out, state = self.rnn(x, state)
        return self.head(out), state
