import torch


class Closure:
    """Runs the training step, clears the gradients and runs the backward pass."""

    def __init__(self, step_fn, zero_grad_fn, backward_fn):
        self._step_fn = step_fn
        self._zero_grad_fn = zero_grad_fn
        self._backward_fn = backward_fn
        self._result = None

    def consume_result(self):
        result, self._result = self._result, None
        return result

    def closure(self):
        output = self._step_fn()
        self._zero_grad_fn()
        self._backward_fn(output)
        return output

    def __call__(self):
        self._result = self.closure()
        return self._result


class AutomaticOptimization:
    def __init__(self, module, clip=None):
        self.module, self.clip = module, clip

    def run(self, optimizer, batch, batch_idx):
        closure = Closure(
            step_fn=lambda: self.module.training_step(batch, batch_idx),
            zero_grad_fn=optimizer.zero_grad,
            backward_fn=lambda loss: loss.backward(),
        )
        self.optimizer_step(optimizer, closure)
        return closure.consume_result().detach()

    def optimizer_step(self, optimizer, closure):
        def wrapped():
            result = closure()
            if self.clip is not None:
                torch.nn.utils.clip_grad_norm_(self.module.parameters(), self.clip)
            return result
        optimizer.step(closure=wrapped)


class EvaluationLoop:
    def __init__(self, module):
        self.module = module

    def run(self, loader):
        self.module.eval()
        with torch.no_grad():
            results = [self.module.validation_step(batch, i) for i, batch in enumerate(loader)]
        self.module.train()
        return sum(results) / len(results)


class Trainer:
    def __init__(self, max_epochs, clip=None):
        self.max_epochs, self.clip = max_epochs, clip

    def fit(self, module, train_loader, val_loader):
        optimizer = module.configure_optimizers()
        optimization, evaluation = AutomaticOptimization(module, self.clip), EvaluationLoop(module)
        module.train()
        for epoch in range(self.max_epochs):
            losses = [optimization.run(optimizer, batch, i).item() for i, batch in enumerate(train_loader)]
            accuracy = evaluation.run(val_loader)
            print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f} accuracy {accuracy:.4f}")
