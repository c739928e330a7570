import copy

import torch
import torch.nn.functional as F


class User:
    def __init__(self, number, model, train, test, lr=0.05, batch_size=16):
        self.number = number
        self.model = copy.deepcopy(model)
        self.train_x, self.train_y = train
        self.test_x, self.test_y = test
        self.train_samples, self.test_samples = len(self.train_y), len(self.test_y)
        self.batch_size = batch_size
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr, momentum=0.5)

    def set_parameters(self, source):
        with torch.no_grad():
            for mine, theirs in zip(self.model.parameters(), source.parameters()):
                mine.copy_(theirs)

    def train(self, epochs, teacher=None, weight=0.3):
        self.model.train()
        last = 0.0
        for _ in range(epochs):
            for index in torch.randperm(self.train_samples).split(self.batch_size):
                output = self.model(self.train_x[index])
                loss = F.nll_loss(output, self.train_y[index])
                if teacher is not None:
                    labels, latent = teacher.sample(len(index))
                    loss = loss + weight * F.nll_loss(self.model.classify(latent), labels)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                last = loss.item()
        return last

    def test(self):
        self.model.eval()
        output = self.model(self.test_x)
        loss = F.nll_loss(output, self.test_y)
        correct = (output.argmax(1) == self.test_y).sum().item()
        return correct, loss, self.test_samples
