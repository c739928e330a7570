import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from loops import Trainer
from optim import DecoupledAdam


class SentenceClassifier(nn.Module):
    def __init__(self, vocab=50, dim=32, classes=3, lr=3e-3):
        super().__init__()
        self.lr = lr
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.attend = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, tokens):
        padding = tokens.eq(0)
        x = self.embed(tokens)
        mixed, _ = self.attend(x, x, x, key_padding_mask=padding, need_weights=False)
        x = self.norm(x + mixed).masked_fill(padding.unsqueeze(-1), 0.0)
        return self.head(x.sum(1) / (~padding).sum(1, keepdim=True))

    def training_step(self, batch, batch_idx):
        tokens, labels = batch
        return F.cross_entropy(self(tokens), labels)

    def validation_step(self, batch, batch_idx):
        tokens, labels = batch
        return (self(tokens).argmax(1) == labels).float().mean().item()

    def configure_optimizers(self):
        decay = [p for p in self.parameters() if p.dim() > 1]
        plain = [p for p in self.parameters() if p.dim() <= 1]
        groups = [{"params": decay, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}]
        return DecoupledAdam(groups, lr=self.lr)


def make_dataset(count, generator):
    labels = torch.randint(0, 3, (count,), generator=generator)
    tokens = torch.randint(4, 50, (count, 12), generator=generator)
    where = torch.randint(0, 8, (count,), generator=generator)
    tokens[torch.arange(count), where] = labels + 1
    lengths = torch.randint(9, 13, (count, 1), generator=generator)
    return TensorDataset(tokens.masked_fill(torch.arange(12) >= lengths, 0), labels)


def main():
    torch.manual_seed(50)
    generator = torch.Generator().manual_seed(5)
    train = DataLoader(make_dataset(256, generator), batch_size=32, shuffle=True)
    valid = DataLoader(make_dataset(64, generator), batch_size=32)
    model = SentenceClassifier()
    Trainer(max_epochs=4, clip=1.0).fit(model, train, valid)
    print("checksum %.5f" % sum(p.abs().sum().item() for p in model.parameters()))


if __name__ == "__main__":
    main()
