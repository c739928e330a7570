import torch
from torch import nn

from maml import MAML
from models import SequencePredictor


class WaveTasks:
    def __init__(self, seed, length=12, shots=8):
        self.generator = torch.Generator().manual_seed(seed)
        self.length, self.shots = length, shots

    def sample(self):
        g = self.generator
        freq = 0.2 + 0.5 * torch.rand(1, generator=g)
        amp = 0.5 + torch.rand(1, generator=g)
        phase = 6.28 * torch.rand(2, self.shots, 1, generator=g)
        t = torch.arange(self.length + 1).float()
        waves = (amp * torch.sin(freq * t + phase)).unsqueeze(-1)
        return waves[0], waves[1]


def sequence_loss(learner, waves, criterion):
    prediction, _ = learner(waves[:, :-1])
    return criterion(prediction, waves[:, 1:])


def evaluate(maml, tasks, criterion, steps):
    total = 0.0
    for _ in range(4):
        support, query = tasks.sample()
        learner = maml.clone()
        for _ in range(steps):
            learner.adapt(sequence_loss(learner, support, criterion))
        total += sequence_loss(learner, query, criterion).item()
    return total / 4


def main(meta_batch=3, steps=2):
    torch.manual_seed(17)
    model = SequencePredictor()
    maml = MAML(model, lr=0.05)
    optimizer = torch.optim.Adam(maml.parameters(), lr=5e-3)
    criterion = nn.MSELoss()
    train, held_out = WaveTasks(1), WaveTasks(2)
    for iteration in range(9):
        optimizer.zero_grad()
        meta_loss = 0.0
        for _ in range(meta_batch):
            support, query = train.sample()
            learner = maml.clone()
            learner.train()
            for _ in range(steps):
                learner.adapt(sequence_loss(learner, support, criterion))
            meta_loss = meta_loss + sequence_loss(learner, query, criterion)
        (meta_loss / meta_batch).backward()
        nn.utils.clip_grad_norm_(maml.parameters(), 1.0)
        optimizer.step()
        if iteration % 3 == 2:
            print(f"iteration {iteration} meta loss {meta_loss.item() / meta_batch:.4f} "
                  f"held out {evaluate(maml, held_out, criterion, steps):.4f}")
    print("checksum %.5f" % sum(p.abs().sum().item() for p in model.parameters()))


if __name__ == "__main__":
    main()
