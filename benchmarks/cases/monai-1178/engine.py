import torch


def dice(prediction, target):
    overlap = (prediction * target)[:, 1:].sum((2, 3))
    total = (prediction + target)[:, 1:].sum((2, 3))
    return ((2 * overlap + 1e-5) / (total + 1e-5)).mean()


class State:
    def __init__(self):
        self.epoch = 0
        self.output = {}
        self.metrics = {}


class SupervisedTrainer:
    def __init__(self, network, optimizer, loss_function, loader, post_transform=None):
        self.network, self.optimizer, self.loss_function = network, optimizer, loss_function
        self.loader, self.post_transform, self.state = loader, post_transform, State()

    def iteration(self, batch):
        image, label = batch
        self.network.train()
        self.optimizer.zero_grad()
        output = {"image": image, "label": label, "pred": self.network(image)}
        output["loss"] = self.loss_function(output["pred"], label)
        output["loss"].backward()
        self.optimizer.step()
        return output

    def run(self, epochs):
        for self.state.epoch in range(epochs):
            losses, scores = [], []
            for batch in self.loader:
                output = self.iteration(batch)
                if self.post_transform is not None:
                    output = self.post_transform(output)
                self.state.output = output
                losses.append(output["loss"].item())
                scores.append(dice(output["mask"], output["label"]).item())
            margin = self.state.output["prob"].amax(1).mean().item()
            self.state.metrics = {"loss": sum(losses) / len(losses), "dice": sum(scores) / len(scores), "margin": margin}
            text = " ".join(f"{k} {v:.4f}" for k, v in self.state.metrics.items())
            print(f"epoch {self.state.epoch} {text}")


class SupervisedEvaluator:
    def __init__(self, network, loader, post_transform):
        self.network, self.loader, self.post_transform = network, loader, post_transform

    @torch.no_grad()
    def run(self):
        self.network.eval()
        scores = []
        for image, label in self.loader:
            output = self.post_transform({"image": image, "label": label, "pred": self.network(image)})
            scores.append(dice(output["mask"], output["label"]).item())
        return sum(scores) / len(scores)
