from collections import defaultdict

import torch
import torch.nn.functional as F

from model import LatentDiscriminator


def reconstruction(logits, data):
    return F.binary_cross_entropy_with_logits(logits, data, reduction="sum") / len(data)


def normal_kl(mean, logvar):
    return 0.5 * (mean.pow(2) + logvar.exp() - 1 - logvar).sum(1).mean()


def permute_dims(z):
    columns = [z[torch.randperm(len(z)), i] for i in range(z.shape[1])]
    return torch.stack(columns, 1)


class BetaLoss:
    def __init__(self, beta=4.0):
        self.beta = beta

    def call_optimize(self, data, model, optimizer, storer):
        logits, stats, _ = model(data)
        loss = reconstruction(logits, data) + self.beta * normal_kl(*stats)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        storer["loss"].append(loss.item())
        return loss


class FactorLoss:
    def __init__(self, gamma=6.0, latent=6, lr_disc=1e-3):
        self.gamma = gamma
        self.discriminator = LatentDiscriminator(latent)
        self.optimizer_d = torch.optim.Adam(self.discriminator.parameters(), lr=lr_disc, betas=(0.5, 0.9))

    def call_optimize(self, data, model, optimizer, storer):
        half = len(data) // 2
        data1, data2 = data[:half], data[half:2 * half]

        logits, stats, latent1 = model(data1)
        rec_loss = reconstruction(logits, data1)
        kl_loss = normal_kl(*stats)
        d_z = self.discriminator(latent1)
        tc_loss = (d_z[:, 0] - d_z[:, 1]).mean()
        vae_loss = rec_loss + kl_loss + self.gamma * tc_loss

        optimizer.zero_grad()
        vae_loss.backward(retain_graph=True)
        optimizer.step()

        latent2 = model.sample_latent(data2)
        z_perm = permute_dims(latent2).detach()
        d_z_perm = self.discriminator(z_perm)
        ones = torch.ones(half, dtype=torch.long)
        zeros = torch.zeros_like(ones)
        d_tc_loss = 0.5 * (F.cross_entropy(d_z, zeros) + F.cross_entropy(d_z_perm, ones))

        self.optimizer_d.zero_grad()
        d_tc_loss.backward()
        self.optimizer_d.step()

        storer["loss"].append(vae_loss.item())
        storer["discrim_loss"].append(d_tc_loss.item())
        storer["tc_loss"].append(tc_loss.item())
        return vae_loss


def get_loss(name):
    return {"beta": BetaLoss, "factor": FactorLoss}[name]()


def new_storer():
    return defaultdict(list)
