import torch

from pinn import FCN, PINNModule, gradient
from trainer import Trainer


class VortexData:
    """Velocity samples of a cellular flow with vorticity w = 2 k^2 psi."""

    def __init__(self, count, seed, k=1.5):
        self.generator = torch.Generator().manual_seed(seed)
        self.count, self.k = count, k

    def _batch(self, count):
        x = 2 * torch.rand(count, 1, generator=self.generator) - 1
        y = 2 * torch.rand(count, 1, generator=self.generator) - 1
        u = -self.k * torch.sin(self.k * x) * torch.sin(self.k * y)
        v = -self.k * torch.cos(self.k * x) * torch.cos(self.k * y)
        return x, y, u, v

    def train_batch(self):
        return self._batch(self.count)

    def val_batch(self):
        return self._batch(200)

    def test_batch(self):
        return self._batch(400)


def output_fn(outputs, x, y):
    psi = outputs[:, :1]
    psi_x, psi_y = gradient(psi, [x, y])
    return {"psi": psi, "u": psi_y, "v": -psi_x}


def pde_fn(fields, x, y, extra):
    u_y = gradient(fields["u"], [y])[0]
    v_x = gradient(fields["v"], [x])[0]
    vorticity = u_y - v_x
    return 0.1 * (vorticity + extra["k2"] * fields["psi"])


def main():
    torch.manual_seed(12)
    data = VortexData(count=128, seed=6)
    module = PINNModule(FCN([2, 24, 24, 1]), output_fn, pde_fn, extra={"k2": 1.0})
    trainer = Trainer(max_epochs=100, inference_mode=False)
    trainer.fit(module, data)
    print(f"test error {trainer.test(module, data):.4f} k2 {module.extra['k2'].item():.4f}")
    print("checksum %.5f" % sum(p.abs().sum().item() for p in module.parameters()))


if __name__ == "__main__":
    main()
