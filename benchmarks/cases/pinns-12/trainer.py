from contextlib import contextmanager

import torch


class Trainer:
    def __init__(self, max_epochs, check_val_every=20, inference_mode=True):
        self.max_epochs = max_epochs
        self.check_val_every = check_val_every
        self.inference_mode = inference_mode

    @contextmanager
    def evaluation_context(self, module):
        training = module.training
        module.eval()
        context = torch.inference_mode if self.inference_mode else torch.no_grad
        try:
            with context():
                yield
        finally:
            module.train(training)

    def fit(self, module, datamodule):
        optimizer = module.configure_optimizers()
        module.train()
        for epoch in range(self.max_epochs):
            optimizer.zero_grad()
            loss = module.training_step(datamodule.train_batch())
            loss.backward()
            optimizer.step()
            if epoch % self.check_val_every == self.check_val_every - 1:
                error = self.validate(module, datamodule)
                print(f"epoch {epoch} loss {loss.item():.5f} val error {error:.4f}")

    def validate(self, module, datamodule):
        with self.evaluation_context(module):
            return module.validation_step(datamodule.val_batch())

    def test(self, module, datamodule):
        with self.evaluation_context(module):
            return module.validation_step(datamodule.test_batch())
