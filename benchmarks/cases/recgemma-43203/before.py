import torch

from modeling import Config, RecurrentLM


def make_corpus(count, length, generator):
    start = torch.randint(0, Config.vocab_size, (count, 1), generator=generator)
    step = torch.randint(1, 4, (count, 1), generator=generator)
    return (start + step * torch.arange(length)) % Config.vocab_size


class Trainer:
    def __init__(self, model, train, valid, batch_size=16, accumulate=2, lr=5e-3):
        self.model, self.train_set, self.valid_set = model, train, valid
        self.batch_size, self.accumulate = batch_size, accumulate
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)

    def training_step(self, batch):
        self.model.train()
        loss, _ = self.model(batch, labels=batch)
        (loss / self.accumulate).backward()
        return loss.item()

    def evaluate(self):
        self.model.eval()
        with torch.no_grad():
            loss, _ = self.model(self.valid_set, labels=self.valid_set)
        return loss.item()

    def train(self, epochs):
        for epoch in range(epochs):
            losses = []
            for number, batch in enumerate(self.train_set.split(self.batch_size)):
                losses.append(self.training_step(batch))
                if number % self.accumulate == self.accumulate - 1:
                    torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                    self.optimizer.step()
                    self.optimizer.zero_grad()
            print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f} valid {self.evaluate():.4f}")


def main():
    torch.manual_seed(9)
    generator = torch.Generator().manual_seed(1)
    model = RecurrentLM(Config())
    trainer = Trainer(model, make_corpus(128, 16, generator), make_corpus(16, 16, generator))
    trainer.train(epochs=3)
    sample = model.generate(make_corpus(2, 6, generator), 4)
    print("sample", sample[0].tolist())
    print("checksum %.5f" % sum(p.abs().sum().item() for p in model.parameters()))


if __name__ == "__main__":
    main()
