from dataclasses import dataclass, field

import torch


@dataclass
class SimState:
    positions: torch.Tensor
    masses: torch.Tensor
    momenta: torch.Tensor
    energy: torch.Tensor = None
    forces: torch.Tensor = None
    stress: torch.Tensor = None
    extras: dict = field(default_factory=dict)

    @property
    def kinetic(self):
        return (self.momenta ** 2 / (2 * self.masses[:, None])).sum()

    @property
    def temperature(self):
        return 2 * self.kinetic / (3 * len(self.masses))
