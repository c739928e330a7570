import torch
import torch.nn as nn

from convolution import GaborConv1d, SquaredModulus


class Leaf(nn.Module):
    def __init__(self, n_filters=6, kernel_size=41, stride=4):
        super().__init__()
        self.complex_conv = GaborConv1d(n_filters, kernel_size, stride)
        self.activation = SquaredModulus()
        self.pool = nn.AdaptiveAvgPool1d(4)

    def forward(self, wave):
        out = self.pool(self.activation(self.complex_conv(wave[:, None, :])))
        return torch.log(out + 1e-4)


class Classifier(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.frontend = Leaf()
        self.head = nn.Sequential(nn.Flatten(), nn.LayerNorm(24), nn.Linear(24, n_classes))

    def forward(self, wave):
        return self.head(self.frontend(wave))
