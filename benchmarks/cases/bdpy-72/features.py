import torch


def find_layer(model, name):
    for part in name.split("."):
        model = getattr(model, part)
    return model


class Collector:
    def __init__(self, detach):
        self.detach = detach
        self.outputs = []

    def __call__(self, module, inputs, output):
        self.outputs.append(output.detach().clone() if self.detach else output)

    def clear(self):
        self.outputs = []


class FeatureExtractor:
    def __init__(self, encoder, layers, detach=True):
        self._encoder = encoder
        self._layers = list(layers)
        self._detach = detach
        self._collector = Collector(detach)
        for layer in self._layers:
            find_layer(encoder, layer).register_forward_hook(self._collector)

    def run(self, x):
        self._collector.clear()
        if not isinstance(x, torch.Tensor):
            x = torch.as_tensor(x)[None]
        self._encoder(x)
        features = dict(zip(self._layers, self._collector.outputs))
        if self._detach:
            features = {k: v.numpy() for k, v in features.items()}
        return features
