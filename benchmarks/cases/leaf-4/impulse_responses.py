import math

import torch


def gabor_impulse_response(t, center, fwhm):
    denom = 1.0 / (math.sqrt(2 * math.pi) * fwhm)
    envelope = torch.exp(-(t[None, :] ** 2) / (2 * fwhm[:, None] ** 2))
    angle = center[:, None] * t[None, :]
    return denom[:, None] * envelope * torch.cos(angle), denom[:, None] * envelope * torch.sin(angle)


def mel_like_init(n_filters, lo=0.15, hi=2.9):
    center = torch.exp(torch.linspace(math.log(lo), math.log(hi), n_filters))
    return torch.stack([center, 12.0 / (1.0 + 3.0 * center)], dim=1)
