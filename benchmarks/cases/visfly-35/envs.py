import torch

from dynamics import Dynamics


class HoverEnv:
    def __init__(self, num, limit=1.5, seed=0):
        self.dynamics = Dynamics(num)
        self.num, self.limit = num, limit
        self.generator = torch.Generator().manual_seed(seed)
        self.target = torch.tensor([0.5, 0.0, 0.4])

    def spawn(self, count):
        return 0.6 * torch.rand(count, 3, generator=self.generator) - 0.3

    def reset(self):
        self.dynamics.reset(pos=self.spawn(self.num))
        return self.observation()

    def observation(self):
        return self.dynamics.state - torch.cat([self.target, torch.zeros(3)])

    def reward(self):
        position, velocity = self.dynamics.position, self.dynamics.velocity
        distance = (position - self.target).norm(dim=1)
        centred = position[:, :2].pow(2).sum(1)
        return 1.0 - distance - 0.1 * centred - 0.02 * velocity.pow(2).sum(1)

    def step(self, action):
        self.dynamics.step(action)
        reward = self.reward()
        with torch.no_grad():
            done = self.dynamics.position.abs().amax(1) > self.limit
        if done.any():
            indices = done.nonzero().flatten().tolist()
            self.dynamics.reset(pos=self.spawn(len(indices)), indices=indices)
        return self.observation(), reward, done

    def detach(self):
        self.dynamics.detach()
        return self.observation()
