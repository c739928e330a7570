import torch
import torch.nn as nn


class ViT(nn.Module):
    def __init__(self, image_size=16, patch=4, dim=32, depth=2, heads=4, num_classes=10):
        super().__init__()
        self.patch = patch
        n = (image_size // patch) ** 2
        self.to_patch = nn.Linear(3 * patch * patch, dim)
        self.pos = nn.Parameter(torch.randn(1, n, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, heads, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.transformer = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.mlp_head = nn.Linear(dim, num_classes)

    def forward(self, img):
        p = self.patch
        x = img.unfold(2, p, p).unfold(3, p, p).permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)
        x = self.transformer(self.to_patch(x) + self.pos)
        return self.mlp_head(x.mean(1))
