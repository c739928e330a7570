import torch.nn as nn


class TrainModule(nn.Module):
    def configure_optimizers(self):
        raise NotImplementedError

    def training_step(self, batch, batch_idx, optimizer_idx):
        raise NotImplementedError

    def optimizer_step(self, optimizer, optimizer_idx):
        optimizer.step()
        optimizer.zero_grad()

    def on_epoch_end(self, epoch, logs):
        pass


class Trainer:
    def __init__(self, max_epochs):
        self.max_epochs = max_epochs
        self.optimizers = []
        self.model = None

    def fit(self, model, loader):
        self.model = model
        opts = model.configure_optimizers()
        self.optimizers = list(opts) if isinstance(opts, (list, tuple)) else [opts]
        for epoch in range(self.max_epochs):
            model.train()
            sums, count = {}, 0
            for idx, batch in enumerate(loader):
                for key, value in self.run_training_batch(batch, idx).items():
                    sums[key] = sums.get(key, 0.0) + value
                count += 1
            model.on_epoch_end(epoch, {k: v / count for k, v in sums.items()})

    def run_training_batch(self, batch, batch_idx):
        logs = {}
        for opt_idx, optimizer in enumerate(self.optimizers):
            output = self.model.training_step(batch, batch_idx, opt_idx)
            loss = output["loss"]
            loss.backward()
            logs.update(output.get("log", {}))
            self.model.optimizer_step(optimizer, opt_idx)
        return logs
