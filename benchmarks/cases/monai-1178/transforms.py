import copy

import torch
import torch.nn.functional as F


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, data):
        for transform in self.transforms:
            data = transform(data)
        return data


class MapTransform:
    def __init__(self, keys):
        self.keys = (keys,) if isinstance(keys, str) else tuple(keys)


class CopyItemsd(MapTransform):
    def __init__(self, keys, times, names):
        super().__init__(keys)
        self.times = times
        self.names = (names,) if isinstance(names, str) else tuple(names)
        if len(self.names) != times * len(self.keys):
            raise ValueError("number of names must be times * number of keys")

    def __call__(self, data):
        d = dict(data)
        for i in range(self.times):
            for key, new_key in zip(self.keys, self.names[i * len(self.keys):]):
                if new_key in d:
                    raise KeyError(f"key {new_key} exists already")
                d[new_key] = copy.deepcopy(d[key])
        return d


class Activationsd(MapTransform):
    def __call__(self, data):
        d = dict(data)
        for key in self.keys:
            d[key] = torch.softmax(d[key], 1)
        return d


class AsDiscreted(MapTransform):
    def __init__(self, keys, classes):
        super().__init__(keys)
        self.classes = classes

    def __call__(self, data):
        d = dict(data)
        for key in self.keys:
            value = d[key]
            index = value.argmax(1) if value.dim() == 4 else value
            d[key] = F.one_hot(index, self.classes).movedim(-1, 1).float()
        return d
