import torch
import torch.nn as nn
import torch.nn.functional as F

from layers import GCNConv


class EvolveGCNO(nn.Module):
    """The graph convolution's matrix is the hidden state of an RNN over time."""

    def __init__(self, channels):
        super().__init__()
        self.recurrent = nn.GRU(channels, channels)
        self.conv = GCNConv(channels, channels)

    def forward(self, x, edge_index):
        w = self.conv.weight[None, :, :]
        w, _ = self.recurrent(w)
        self.conv.weight = nn.Parameter(w.squeeze(0))
        return self.conv(x, edge_index)


class RecurrentGCN(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.recurrent = EvolveGCNO(channels)
        self.linear = nn.Linear(channels, 1)

    def forward(self, x, edge_index):
        h = F.relu(self.recurrent(x, edge_index))
        return self.linear(h).squeeze(-1)
