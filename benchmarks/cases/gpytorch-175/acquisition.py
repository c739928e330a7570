import torch


class ExpectedImprovement:
    def __init__(self, model, best):
        self.model, self.best = model, best
        self.normal = torch.distributions.Normal(0.0, 1.0)

    def __call__(self, x):
        posterior = self.model(x)
        u = (posterior.mean - self.best) / posterior.stddev
        density = torch.exp(self.normal.log_prob(u))
        return posterior.stddev * (density + u * self.normal.cdf(u))


def optimize_candidate(acquisition, start, steps=12, lr=0.05):
    x = start.clone().requires_grad_(True)
    optimizer = torch.optim.Adam([x], lr=lr)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = -acquisition(x).sum()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            x.clamp_(0.0, 1.0)
    with torch.no_grad():
        values = acquisition(x)
    best = values.argmax()
    return x.detach()[best:best + 1], values[best].item()
