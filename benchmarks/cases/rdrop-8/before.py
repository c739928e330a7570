import torch
from torch import nn

from criterion import ConsistencyCriterion
from task import SummaryTask, TrainOptimizer

PAD, BOS, VOCAB = 0, 1, 30


class Summarizer(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.decoder = nn.GRU(dim, dim, batch_first=True)
        self.dropout = nn.Dropout(0.2)
        self.out = nn.Linear(2 * dim, VOCAB)
        self.update_num = 0

    def forward(self, source, prev):
        memory, state = self.encoder(self.dropout(self.embed(source)))
        hidden, _ = self.decoder(self.dropout(self.embed(prev)), state)
        scores = hidden @ memory.transpose(1, 2)
        context = scores.softmax(-1) @ memory
        return self.out(self.dropout(torch.cat([hidden, context], -1)))


def make_batches(count, size, generator):
    batches = []
    for _ in range(count):
        source = torch.randint(2, VOCAB, (size, 8), generator=generator)
        target = source[:, ::2].clone()
        short = torch.rand(size, generator=generator) < 0.3
        target[short, -1] = PAD
        prev = torch.cat([torch.full((size, 1), BOS), target[:, :-1]], 1)
        batches.append({"source": source, "target": target, "prev_target": prev,
                        "ntokens": int(target.ne(PAD).sum())})
    return batches


def main():
    torch.manual_seed(3)
    generator = torch.Generator().manual_seed(5)
    train, valid = make_batches(12, 16, generator), make_batches(2, 16, generator)
    model, task = Summarizer(), SummaryTask(reg_alpha=0.5)
    criterion = ConsistencyCriterion(pad=PAD)
    optimizer = TrainOptimizer(model.parameters(), lr=5e-3, clip=1.0)
    updates = 0
    for epoch in range(3):
        nll = tokens = 0
        for sample in train:
            optimizer.zero_grad()
            _, size, report = task.train_step(sample, model, criterion, optimizer, updates)
            optimizer.step()
            updates += 1
            nll += report["nll"] / 2
            tokens += size
        parts = [task.valid_step(sample, model, criterion) for sample in valid]
        held_out = sum(p[0] for p in parts) / sum(p[1] for p in parts)
        print(f"epoch {epoch} train {nll / tokens:.4f} valid {held_out:.4f}")
    print("checksum %.5f" % sum(p.abs().sum().item() for p in model.parameters()))


if __name__ == "__main__":
    main()
