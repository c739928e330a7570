import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Config:
    seed = 0
    rank = 4
    learning_rate = 0.3
    max_grad_norm = 0.05
    epochs = 3
    batch_size = 32
    timesteps = 50


class LoraLinear(nn.Module):
    def __init__(self, base, rank):
        super().__init__()
        self.base = base
        self.lora_a = nn.Linear(base.in_features, rank, bias=False)
        self.lora_b = nn.Linear(rank, base.out_features, bias=False)
        nn.init.zeros_(self.lora_b.weight)

    def forward(self, x):
        return self.base(x) + self.lora_b(self.lora_a(x))


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.to_q, self.to_k, self.to_v, self.to_out = (nn.Linear(dim, dim) for _ in range(4))

    def forward(self, x, context):
        att = self.to_q(x) @ self.to_k(context).transpose(1, 2) / math.sqrt(x.size(-1))
        return self.to_out(att.softmax(-1) @ self.to_v(context))


class Transformer(nn.Module):
    """Noise predictor for a latent of 8 tokens, told the time and the caption."""

    def __init__(self, dim=32, vocab=12):
        super().__init__()
        self.proj_in, self.proj_out = nn.Linear(4, dim), nn.Linear(dim, 4)
        self.time = nn.Embedding(Config.timesteps, dim)
        self.caption = nn.Embedding(vocab, dim)
        self.self_attn, self.cross_attn = Attention(dim), Attention(dim)
        self.ff = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim))

    def forward(self, latent, t, caption):
        h = self.proj_in(latent) + self.time(t)[:, None]
        h = h + self.self_attn(h, h)
        h = h + self.cross_attn(h, self.caption(caption))
        return self.proj_out(h + self.ff(h))


class NoiseScheduler:
    def __init__(self, n):
        self.n = n
        self.alphas = torch.cumprod(1 - torch.linspace(1e-3, 0.1, n), 0)

    def add_noise(self, x, noise, t):
        a = self.alphas[t][:, None, None]
        return a.sqrt() * x + (1 - a).sqrt() * noise


def inject_lora(model, rank, targets=("to_q", "to_k", "to_v", "to_out")):
    model.requires_grad_(False)
    for module in list(model.modules()):
        for name in targets:
            child = getattr(module, name, None)
            if isinstance(child, nn.Linear):
                setattr(module, name, LoraLinear(child, rank))
    return model


def make_data(n=320):
    caption = torch.randint(12, (n, 3))
    base = torch.randn(12, 8, 4)
    latent = base[caption].mean(1) + 0.1 * torch.randn(n, 8, 4)
    latent[::40] *= 12.0
    return TensorDataset(latent, caption)


def main(cfg):
    torch.manual_seed(cfg.seed)
    transformer = inject_lora(Transformer(), cfg.rank)
    scheduler = NoiseScheduler(cfg.timesteps)
    loader = DataLoader(make_data(), batch_size=cfg.batch_size, shuffle=True)

    lora_layers = list(filter(lambda p: p.requires_grad, transformer.parameters()))
    optimizer = torch.optim.SGD(lora_layers, lr=cfg.learning_rate)
    step = 0
    for epoch in range(cfg.epochs):
        transformer.train()
        train_loss, norms = 0.0, []
        for latent, caption in loader:
            noise = torch.randn_like(latent)
            t = torch.randint(0, scheduler.n, (latent.size(0),))
            noisy = scheduler.add_noise(latent, noise, t)
            loss = F.mse_loss(transformer(noisy, t, caption), noise)
            loss.backward()
            params_to_clip = lora_layers
            norms.append(float(nn.utils.clip_grad_norm_(params_to_clip, cfg.max_grad_norm)))
            optimizer.step()
            optimizer.zero_grad()
            train_loss += loss.item()
            step += 1
        print("epoch %d  step %d  loss %.4f  grad norm mean %.4f max %.4f"
              % (epoch, step, train_loss / len(loader), sum(norms) / len(norms), max(norms)))
    size = sum(p.detach().norm().item() for n, p in transformer.named_parameters() if "lora_b" in n)
    print("size of lora_b %.5f" % size)


if __name__ == "__main__":
    main(Config)
