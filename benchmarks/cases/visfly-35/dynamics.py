import torch

from integrator import Integrator

GRAVITY = torch.tensor([[0.0], [0.0], [-9.81]])


class Dynamics:
    def __init__(self, num, dt=0.02, substeps=2, kind="euler", mass=0.6):
        self.num, self.dt, self.substeps, self.kind, self.mass = num, dt, substeps, kind, mass
        self.drag = 0.15
        self.max_thrust = 20.0
        self.reset()

    def reset(self, pos=None, vel=None, indices=None):
        if indices is None:
            self._position = torch.zeros(3, self.num) if pos is None else pos.t().clone()
            self._velocity = torch.zeros(3, self.num) if vel is None else vel.t().clone()
            self._t = torch.zeros(self.num)
        else:
            self._position[:, indices] = torch.zeros(3, len(indices)) if pos is None else pos.t()
            self._velocity[:, indices] = torch.zeros(3, len(indices)) if vel is None else vel.t()
            self._t[indices] = 0.0
        return self.state

    def detach(self):
        self._position = self._position.detach().clone()
        self._velocity = self._velocity.detach().clone()

    def step(self, action):
        force = self.max_thrust * torch.tanh(action).t()
        for _ in range(self.substeps):
            acc = force / self.mass * 0.5 + GRAVITY
            self._position, self._velocity = Integrator.integrate(
                pos=self._position, vel=self._velocity, acc=acc, drag=self.drag, dt=self.dt, kind=self.kind
            )
        self._t = self._t + self.dt * self.substeps
        return self.state

    @property
    def position(self):
        return self._position.t()

    @property
    def velocity(self):
        return self._velocity.t()

    @property
    def state(self):
        return torch.cat([self.position, self.velocity], 1)
