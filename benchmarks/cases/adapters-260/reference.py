import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

PAD, VOCAB, WIDTH = 0, 40, 32


class Adapter(nn.Module):
    def __init__(self, width, reduction):
        super().__init__()
        self.down = nn.Linear(width, width // reduction)
        self.up = nn.Linear(width // reduction, width)
        nn.init.normal_(self.up.weight, std=1e-2)

    def forward(self, h):
        return h + self.up(F.relu(self.down(h)))


class Block(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.adapters = nn.ModuleDict()
        self.active = None

    def forward(self, h, mask):
        x = self.norm1(h)
        h = h + self.attn(x, x, x, key_padding_mask=mask, need_weights=False)[0]
        h = h + self.mlp(self.norm2(h))
        return self.adapters[self.active](h) if self.active else h


class TextModel(nn.Module):
    """Stands for the pretrained network: encoder with a vocabulary output."""

    def __init__(self, n_layers=2):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH, padding_idx=PAD)
        self.blocks = nn.ModuleList(Block(WIDTH) for _ in range(n_layers))
        self.lm_head = nn.Linear(WIDTH, VOCAB)

    def forward(self, input_ids, labels=None):
        mask = input_ids == PAD
        h = self.embed(input_ids)
        for block in self.blocks:
            h = block(h, mask)
        keep = (~mask).float().unsqueeze(-1)
        logits = self.lm_head((h * keep).sum(1) / keep.sum(1))
        return logits if labels is None else (F.cross_entropy(logits, labels), logits)

    def add_adapter(self, name, reduction=4):
        for block in self.blocks:
            block.adapters[name] = Adapter(WIDTH, reduction)

    def train_adapter(self, name):
        for p in self.parameters():
            p.requires_grad_(False)
        for block in self.blocks:
            block.active = name
            for p in block.adapters[name].parameters():
                p.requires_grad_(True)


def reviews(n, seed):
    gen = torch.Generator().manual_seed(seed)
    ids = torch.randint(2, VOCAB, (n, 12), generator=gen)
    label = torch.randint(2, (n,), generator=gen)
    for i in range(n):
        spots = torch.randperm(12, generator=gen)[:4]
        ids[i, spots] = torch.randint(5, 10, (4,), generator=gen) + 10 * label[i]
        ids[i, int(torch.randint(8, 13, (1,), generator=gen)):] = PAD
    return TensorDataset(ids, 30 + label)


def get_optimizer(model, lr=1e-2, decay=0.0):
    no_decay = ("bias", "norm")
    named = list(model.named_parameters())
    groups = [
        {"params": [p for n, p in named if not any(k in n for k in no_decay)], "weight_decay": decay},
        {"params": [p for n, p in named if any(k in n for k in no_decay)], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=lr)


def train_epoch(model, loader, optimizer, scheduler):
    model.train()
    total = 0.0
    for ids, label in loader:
        loss, _ = model(ids, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    hits = sum((model(ids).argmax(1) == label).sum().item() for ids, label in loader)
    return hits / len(loader.dataset)


def main(task="sentiment", epochs=4):
    torch.manual_seed(0)
    train_loader = DataLoader(reviews(256, 1), batch_size=32, shuffle=True)
    dev_loader = DataLoader(reviews(128, 2), batch_size=64)
    model = TextModel()
    model.add_adapter(task)
    model.train_adapter(task)
    optimizer = get_optimizer(model)
    steps = epochs * len(train_loader)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: 1 - s / (steps + 1))
    adapter = [p for p in model.parameters() if p.requires_grad]
    print("trainable %d of %d" % (sum(p.numel() for p in adapter), sum(p.numel() for p in model.parameters())))
    print("adapter %.6f" % sum(p.abs().sum().item() for p in adapter))
    for epoch in range(epochs):
        loss = train_epoch(model, train_loader, optimizer, scheduler)
        print("epoch %d  loss %.4f  dev acc %.3f" % (epoch, loss, evaluate(model, dev_loader)))
    print("adapter %.6f" % sum(p.abs().sum().item() for p in adapter))


if __name__ == "__main__":
    main()
