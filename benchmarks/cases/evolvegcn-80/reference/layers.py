import torch
import torch.nn as nn


def normalise(edge_index, n_nodes):
    adj = torch.zeros(n_nodes, n_nodes)
    adj[edge_index[1], edge_index[0]] = 1.0
    adj = adj + torch.eye(n_nodes)
    inv = adj.sum(1).pow(-0.5)
    return inv[:, None] * adj * inv[None, :]


class GCNConvFixedW(nn.Module):
    def forward(self, weight, x, edge_index):
        return normalise(edge_index, x.size(0)) @ (x @ weight)
