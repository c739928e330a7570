import torch
import torch.nn as nn
import torch.nn.functional as F

from learner import Learner


class MetaLearner(nn.Module):
    def __init__(self, sizes, n_frozen, update_lr, meta_lr):
        super().__init__()
        self.update_lr = update_lr
        self.net = Learner(sizes, n_frozen)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=meta_lr)

    def inner_update(self, x, fast_weights, y):
        loss = F.mse_loss(self.net(x, fast_weights), y)
        grad = torch.autograd.grad(loss, fast_weights)
        new = []
        for g, p in zip(grad, fast_weights):
            if p.adaptation:
                q = p - self.update_lr * g
                q.adaptation = True
                new.append(q)
            else:
                new.append(p)
        return new

    def adapt(self, x_traj, y_traj):
        fast = list(self.net.vars)
        for x, y in zip(x_traj, y_traj):
            fast = self.inner_update(x, fast, y)
        return fast

    def forward(self, x_traj, y_traj, x_rand, y_rand):
        before = F.mse_loss(self.net(x_rand), y_rand).item()
        fast = self.adapt(x_traj, y_traj)
        meta_loss = F.mse_loss(self.net(x_rand, fast), y_rand)
        self.optimizer.zero_grad()
        meta_loss.backward()
        sizes = [sum(p.grad.norm().item() ** 2 for p in self.net.vars if p.adaptation == flag) ** 0.5
                 for flag in (False, True)]
        self.optimizer.step()
        return before, meta_loss.item(), sizes

    def evaluate(self, tasks):
        total = 0.0
        for x_traj, y_traj, x_rand, y_rand in tasks:
            fast = self.adapt(x_traj, y_traj)
            with torch.no_grad():
                total += F.mse_loss(self.net(x_rand, fast), y_rand).item()
        return total / len(tasks)
