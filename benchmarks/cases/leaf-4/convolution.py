import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from impulse_responses import gabor_impulse_response, mel_like_init


class GaborConstraint(nn.Module):
    """Center frequency in [0, pi]; width between one and half the window."""

    def __init__(self, kernel_size):
        super().__init__()
        self._kernel_size = kernel_size

    def forward(self, kernel):
        with torch.no_grad():
            c = math.sqrt(2 * math.log(2))
            mu = kernel[:, 0].clamp(0.0, math.pi)
            sigma = kernel[:, 1].clamp(4 * c / math.pi, self._kernel_size * c / math.pi)
            return torch.stack([mu, sigma], dim=1)


class GaborConv1d(nn.Module):
    def __init__(self, n_filters, kernel_size, stride):
        super().__init__()
        self._stride = stride
        self._pad = kernel_size // 2
        self._kernel = nn.Parameter(mel_like_init(n_filters))
        self._constraint = GaborConstraint(kernel_size)
        self.register_buffer("_t", torch.arange(-(kernel_size // 2), (kernel_size + 1) // 2).float())

    def forward(self, x):
        kernel = self._constraint(self._kernel)
        real, imag = gabor_impulse_response(self._t, kernel[:, 0], kernel[:, 1])
        filters = torch.stack([real, imag], dim=1).flatten(0, 1)
        return F.conv1d(x, filters[:, None, :], stride=self._stride, padding=self._pad)


class SquaredModulus(nn.Module):
    def forward(self, x):
        return (x ** 2).unflatten(1, (-1, 2)).sum(2)
