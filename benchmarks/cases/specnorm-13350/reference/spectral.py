import torch
import torch.nn.functional as F
from torch import nn


class SpectralNorm:
    """Forward-pre hook which divides a weight by an estimate of its largest singular value."""

    def __init__(self, name, iterations, eps):
        self.name, self.iterations, self.eps = name, iterations, eps

    def compute_weight(self, module):
        weight = getattr(module, self.name + "_orig")
        u = getattr(module, self.name + "_u")
        matrix = weight.flatten(1)
        if module.training:
            with torch.no_grad():
                for _ in range(self.iterations):
                    v = F.normalize(torch.mv(matrix.t(), u), dim=0, eps=self.eps)
                    F.normalize(torch.mv(matrix, v), dim=0, eps=self.eps, out=u)
                if self.iterations > 0:
                    u = u.clone()
        else:
            v = F.normalize(torch.mv(matrix.t(), u), dim=0, eps=self.eps).detach()
        sigma = torch.dot(u, torch.mv(matrix, v))
        return weight / sigma

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module))

    @staticmethod
    def apply(module, name, iterations, eps):
        hook = SpectralNorm(name, iterations, eps)
        weight = module._parameters.pop(name)
        u = F.normalize(weight.new_empty(weight.shape[0]).normal_(), dim=0, eps=eps)
        module.register_parameter(name + "_orig", nn.Parameter(weight.data))
        module.register_buffer(name + "_u", u)
        setattr(module, name, weight.data)
        module.register_forward_pre_hook(hook)
        return hook


def spectral_norm(module, name="weight", iterations=1, eps=1e-12):
    SpectralNorm.apply(module, name, iterations, eps)
    return module
