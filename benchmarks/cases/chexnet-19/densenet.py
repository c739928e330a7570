import torch
import torch.nn as nn


class DenseLayer(nn.Module):
    def __init__(self, cin, growth):
        super().__init__()
        self.body = nn.Sequential(nn.BatchNorm2d(cin), nn.ReLU(), nn.Conv2d(cin, growth, 3, padding=1))

    def forward(self, x):
        return torch.cat([x, self.body(x)], 1)


class SmallDenseNet(nn.Module):
    def __init__(self, class_count, growth=8, layers=4):
        super().__init__()
        feats = [nn.Conv2d(1, growth, 3, padding=1)]
        ch = growth
        for _ in range(layers):
            feats.append(DenseLayer(ch, growth))
            ch += growth
        self.features = nn.Sequential(*feats)
        self.classifier = nn.Sequential(nn.Linear(ch, class_count), nn.Sigmoid())

    def forward(self, x):
        return self.classifier(self.features(x).mean(dim=(2, 3)))
