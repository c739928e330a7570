import torch.nn as nn


def apply_tuple_or_single(fn, val):
    return tuple(map(fn, val)) if isinstance(val, tuple) else fn(val)


class Extractor(nn.Module):
    """Wraps a vision transformer; hands out the tokens of one inner layer."""

    def __init__(self, vit, layer_name="transformer", return_embeddings_only=False):
        super().__init__()
        self.vit = vit
        self.layer_name = layer_name
        self.return_embeddings_only = return_embeddings_only
        self.latents = None
        self.hooks = []

    def _hook(self, _, inputs, output):
        self.latents = apply_tuple_or_single(lambda t: t.clone().detach(), output)

    def _register_hook(self):
        layer = getattr(self.vit, self.layer_name)
        self.hooks.append(layer.register_forward_hook(self._hook))

    def eject(self):
        for hook in self.hooks:
            hook.remove()
        self.hooks.clear()
        return self.vit

    def forward(self, img):
        self.latents = None
        if not self.hooks:
            self._register_hook()
        pred = self.vit(img)
        if self.return_embeddings_only:
            return self.latents
        return pred, self.latents
