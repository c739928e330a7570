import torch
import torch.nn as nn
import torch.nn.functional as F

from trainer import TrainModule


class RingGAN(TrainModule):
    def __init__(self, latent=8, hid=32, lr=0.02):
        super().__init__()
        self.latent, self.lr = latent, lr
        self.generator = nn.Sequential(nn.Linear(latent, hid), nn.LeakyReLU(0.2), nn.Linear(hid, 2))
        self.discriminator = nn.Sequential(nn.Linear(2, hid), nn.LeakyReLU(0.2), nn.Linear(hid, 1))
        self.generated = None

    def forward(self, z):
        return self.generator(z)

    def configure_optimizers(self):
        opt_g = torch.optim.SGD(self.generator.parameters(), lr=self.lr)
        opt_d = torch.optim.SGD(self.discriminator.parameters(), lr=self.lr)
        return [opt_g, opt_d]

    def adversarial_loss(self, logits, label):
        return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, label))

    def training_step(self, batch, batch_idx, optimizer_idx):
        if optimizer_idx == 0:
            z = torch.randn(len(batch), self.latent)
            self.generated = self(z)
            g_loss = self.adversarial_loss(self.discriminator(self.generated), 1.0)
            return {"loss": g_loss, "log": {"g": g_loss.item()}}
        real = self.adversarial_loss(self.discriminator(batch), 1.0)
        fake = self.adversarial_loss(self.discriminator(self.generated.detach()), 0.0)
        d_loss = (real + fake) / 2
        return {"loss": d_loss, "log": {"d": d_loss.item()}}

    def on_epoch_end(self, epoch, logs):
        if epoch % 4 == 3:
            with torch.no_grad():
                pts = self(torch.randn(256, self.latent, generator=torch.Generator().manual_seed(5)))
            print("epoch %2d  g %.4f  d %.4f  mean radius %.3f"
                  % (epoch, logs["g"], logs["d"], pts.norm(dim=1).mean().item()))
