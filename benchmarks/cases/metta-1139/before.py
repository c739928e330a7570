import os

import torch

from trainer import Trainer


class RecallEnv:
    """Say the symbol that was shown one step ago; many copies side by side."""

    def __init__(self, n_envs=64, symbols=3):
        self.n_envs, self.n_actions, self.obs_dim = n_envs, symbols, symbols
        self.shown = None

    def _observe(self):
        return torch.nn.functional.one_hot(self.shown, self.obs_dim).float()

    def reset(self):
        self.shown = torch.randint(self.obs_dim, (self.n_envs,))
        self.before = torch.zeros_like(self.shown)
        return self._observe()

    def step(self, actions):
        reward = (actions == self.before).float()
        self.before = self.shown
        self.shown = torch.randint(self.obs_dim, (self.n_envs,))
        return self._observe(), reward


def rss_mb():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2 ** 20


def main():
    torch.manual_seed(0)
    trainer = Trainer(RecallEnv())
    for epoch in range(1, 9):
        reward = trainer.rollout()
        loss = trainer.train()
        if epoch % 2 == 0:
            print("epoch %2d  reward %.3f  loss %.4f  rss %.0f MB" % (epoch, reward, loss, rss_mb()))
    print("checksum %.4f" % sum(p.abs().sum().item() for p in trainer.policy.parameters()))


if __name__ == "__main__":
    main()
