import torch
import torch.nn.functional as F

from networks import Critic, Generator


def real_images(count, generator):
    grid = torch.linspace(-1, 1, 8)
    angle = 3.14 * torch.rand(count, 1, 1, generator=generator)
    pattern = torch.cos(4 * (torch.cos(angle) * grid[None, :, None] + torch.sin(angle) * grid[None, None, :]))
    return pattern.unsqueeze(1)


def critic_step(critic, generator, optimizer, real, z):
    with torch.no_grad():
        fake = generator(z)
    loss = F.softplus(-critic(real)).mean() + F.softplus(critic(fake)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def generator_step(critic, generator, optimizer, z):
    loss = -critic(generator(z)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


@torch.no_grad()
def report(critic, generator, real, z):
    critic.eval()
    generator.eval()
    gap = critic(real).mean() - critic(generator(z)).mean()
    critic.train()
    generator.train()
    return gap.item()


def main():
    torch.manual_seed(21)
    source = torch.Generator().manual_seed(4)
    generator, critic = Generator(), Critic()
    opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.0, 0.9))
    opt_d = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.0, 0.9))
    test, fixed = real_images(32, source), torch.randn(32, generator.noise)
    for epoch in range(3):
        d_losses, g_losses = [], []
        for _ in range(5):
            z = torch.randn(32, generator.noise)
            d_losses.append(critic_step(critic, generator, opt_d, real_images(32, source), z))
            g_losses.append(generator_step(critic, generator, opt_g, torch.randn(32, generator.noise)))
        print(f"epoch {epoch} D {sum(d_losses) / 5:.4f} G {sum(g_losses) / 5:.4f} "
              f"gap {report(critic, generator, test, fixed):.4f}")
    print("checksum %.5f" % sum(p.abs().sum().item() for p in critic.parameters()))


if __name__ == "__main__":
    main()
