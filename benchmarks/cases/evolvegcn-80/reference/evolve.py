import torch
import torch.nn as nn
import torch.nn.functional as F

from layers import GCNConvFixedW


class EvolveGCNO(nn.Module):
    """The graph convolution's matrix is the hidden state of an RNN over time."""

    def __init__(self, channels):
        super().__init__()
        self.recurrent = nn.GRU(channels, channels)
        self.initial_weight = nn.Parameter(torch.empty(channels, channels))
        nn.init.xavier_uniform_(self.initial_weight)
        self.conv = GCNConvFixedW()
        self.weight = None

    def reset(self):
        self.weight = None

    def forward(self, x, edge_index):
        w = (self.initial_weight if self.weight is None else self.weight)[None, :, :]
        _, w = self.recurrent(w, w)
        self.weight = w.squeeze(0)
        return self.conv(self.weight, x, edge_index)


class RecurrentGCN(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.recurrent = EvolveGCNO(channels)
        self.linear = nn.Linear(channels, 1)

    def forward(self, x, edge_index):
        h = F.relu(self.recurrent(x, edge_index))
        return self.linear(h).squeeze(-1)
