import torch
from torch import nn
from torch.autograd import grad


def clone_module(module):
    """A copy of the module whose parameters are differentiable functions of the original's."""
    clone = module.__new__(type(module))
    clone.__dict__ = module.__dict__.copy()
    clone._parameters = clone._parameters.copy()
    clone._buffers = clone._buffers.copy()
    clone._modules = clone._modules.copy()
    for name, param in module._parameters.items():
        if param is not None:
            clone._parameters[name] = param.clone()
    for name, buffer in module._buffers.items():
        if buffer is not None and buffer.requires_grad:
            clone._buffers[name] = buffer.clone()
    for name, child in clone._modules.items():
        clone._modules[name] = clone_module(child)
    if hasattr(clone, "flatten_parameters"):
        clone.flatten_parameters()
    return clone


def update_module(module, updates):
    for name, param in module._parameters.items():
        if param is not None and param in updates:
            module._parameters[name] = param + updates[param]
    for name, child in module._modules.items():
        module._modules[name] = update_module(child, updates)
    if hasattr(module, "flatten_parameters"):
        module.flatten_parameters()
    return module


class MAML(nn.Module):
    def __init__(self, model, lr, first_order=False):
        super().__init__()
        self.module = model
        self.lr = lr
        self.first_order = first_order

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def clone(self):
        return MAML(clone_module(self.module), self.lr, self.first_order)

    def adapt(self, loss):
        second = not self.first_order
        params = list(self.module.parameters())
        gradients = grad(loss, params, retain_graph=second, create_graph=second)
        updates = {p: -self.lr * g for p, g in zip(params, gradients)}
        self.module = update_module(self.module, updates)
