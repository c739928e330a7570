import torch
from torch import nn

from envs import HoverEnv


class Actor(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 3))

    def forward(self, obs):
        return self.net(obs)


class BPTT:
    def __init__(self, env, lr=1e-2, horizon=10, gamma=0.99):
        self.env, self.horizon, self.gamma = env, horizon, gamma
        self.actor = Actor()
        self.optimizer = torch.optim.Adam(self.actor.parameters(), lr=lr)

    def rollout(self, obs):
        actor_loss, discount, resets = 0.0, torch.ones(self.env.num), 0
        for _ in range(self.horizon):
            obs, reward, done = self.env.step(self.actor(obs))
            actor_loss = actor_loss - (discount * reward).mean()
            discount = torch.where(done, torch.ones_like(discount), discount * self.gamma)
            resets += int(done.sum())
        return obs, actor_loss / self.horizon, resets

    def learn(self, updates):
        obs = self.env.reset()
        for update in range(updates):
            _, actor_loss, resets = self.rollout(obs)
            self.optimizer.zero_grad()
            actor_loss.backward()
            nn.utils.clip_grad_norm_(self.actor.parameters(), 1.0)
            self.optimizer.step()
            obs = self.env.detach()
            if update % 6 == 5:
                print(f"update {update} loss {actor_loss.item():.4f} resets {resets}")

    @torch.no_grad()
    def evaluate(self, steps=20):
        obs, total = self.env.reset(), 0.0
        for _ in range(steps):
            obs, reward, _ = self.env.step(self.actor(obs))
            total += reward.mean().item()
        return total / steps


def main():
    torch.manual_seed(6)
    learner = BPTT(HoverEnv(num=16, seed=2))
    learner.learn(updates=30)
    print(f"evaluation {learner.evaluate():.4f}")
    print("checksum %.5f" % sum(p.abs().sum().item() for p in learner.actor.parameters()))


if __name__ == "__main__":
    main()
