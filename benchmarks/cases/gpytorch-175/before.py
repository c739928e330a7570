import torch

from acquisition import ExpectedImprovement, optimize_candidate
from gp import ExactGP


def objective(x):
    return torch.sin(6 * x[:, 0]) * (1 - x[:, 0]) + 0.3 * torch.cos(9 * x[:, 0] + 1)


def fit(model, steps=25):
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = -model.marginal_log_likelihood() / len(model.targets)
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(11)
    inputs = torch.tensor([[0.05], [0.4], [0.62], [0.95]])
    targets = objective(inputs)
    model = ExactGP(inputs, targets)
    for trial in range(4):
        nll = fit(model)
        model.eval()
        acquisition = ExpectedImprovement(model, targets.max())
        candidate, value = optimize_candidate(acquisition, torch.rand(6, 1))
        observed = objective(candidate)
        inputs, targets = torch.cat([inputs, candidate]), torch.cat([targets, observed])
        model.set_train_data(inputs, targets)
        print(f"trial {trial} nll {nll:.4f} x {candidate.item():.4f} ei {value:.5f} best {targets.max():.4f}")
    with torch.no_grad():
        grid = torch.linspace(0, 1, 50).unsqueeze(1)
        error = (model(grid).mean - objective(grid)).abs().mean()
    print(f"mean error {error:.4f}")
    print("checksum %.5f" % sum(p.abs().sum().item() for p in model.parameters()))


if __name__ == "__main__":
    main()
