import numpy as np
import torch
import torch.nn.functional as F

from user import User


class LatentGenerator(torch.nn.Module):
    def __init__(self, classes, latent, noise=8):
        super().__init__()
        self.classes, self.noise = classes, noise
        self.net = torch.nn.Sequential(
            torch.nn.Linear(classes + noise, 32), torch.nn.ReLU(), torch.nn.Linear(32, latent), torch.nn.ReLU()
        )

    def forward(self, labels):
        one_hot = F.one_hot(labels, self.classes).float()
        return self.net(torch.cat([one_hot, torch.randn(len(labels), self.noise)], 1))

    @torch.no_grad()
    def sample(self, count):
        labels = torch.randint(0, self.classes, (count,))
        return labels, self(labels)


class Server:
    def __init__(self, model, shards):
        self.model = model
        self.users = [User(i, model, train, test) for i, (train, test) in enumerate(shards)]
        self.metrics = {"accuracy": [], "loss": []}

    def send_parameters(self):
        for user in self.users:
            user.set_parameters(self.model)

    def aggregate(self):
        total = sum(user.train_samples for user in self.users)
        with torch.no_grad():
            for values in zip(self.model.parameters(), *(user.model.parameters() for user in self.users)):
                mean = sum(p * user.train_samples / total for p, user in zip(values[1:], self.users))
                values[0].copy_(mean)

    def test(self):
        results = [user.test() for user in self.users]
        return [r[2] for r in results], [r[0] for r in results], [r[1] for r in results]

    def evaluate(self):
        samples, correct, losses = self.test()
        accuracy = np.sum(correct) / np.sum(samples)
        loss = np.sum([x * y for x, y in zip(samples, losses)]).item() / np.sum(samples)
        self.metrics["accuracy"].append(accuracy)
        self.metrics["loss"].append(loss)
        return accuracy, loss


class FedGenServer(Server):
    def __init__(self, model, shards, classes, latent):
        super().__init__(model, shards)
        self.generator = LatentGenerator(classes, latent)
        self.optimizer = torch.optim.Adam(self.generator.parameters(), lr=3e-3)

    def train_generator(self, steps, batch=16):
        for _ in range(steps):
            labels = torch.randint(0, self.generator.classes, (batch,))
            latent = self.generator(labels)
            loss = sum(F.nll_loss(user.model.classify(latent), labels) for user in self.users)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def train(self, rounds, local_epochs):
        for number in range(rounds):
            self.send_parameters()
            accuracy, loss = self.evaluate()
            print(f"round {number} accuracy {accuracy:.4f} loss {loss:.4f}")
            teacher = self.generator if number > 0 else None
            for user in self.users:
                user.train(local_epochs, teacher)
            self.train_generator(10)
            self.aggregate()
