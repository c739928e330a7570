import torch

from features import FeatureExtractor


def feature_loss(found, wanted, weights):
    return sum(weights[k] * ((found[k] - wanted[k]) ** 2).mean() for k in wanted)


def reconstruct(features, encoder, generator, n_latent, layers, n_iter=20, lr=0.3, log=None):
    """Search the latent vector whose picture has the wanted features in the encoder."""
    extractor = FeatureExtractor(encoder, layers, detach=False)
    targets = {k: torch.as_tensor(v) for k, v in features.items()}
    weights = {k: float(1.0 / (v ** 2).mean()) for k, v in targets.items()}
    latent = torch.zeros(1, n_latent, requires_grad=True)
    optimizer = torch.optim.Adam([latent], lr=lr)
    history = []
    for i in range(n_iter):
        optimizer.zero_grad()
        image = generator(latent)
        loss = feature_loss(extractor.run(image), targets, weights)
        loss.backward()
        optimizer.step()
        history.append(loss.item())
        if log is not None and i % 10 == 9:
            log(i + 1, history[-1])
    with torch.no_grad():
        return generator(latent)[0].numpy(), history
