import torch


class TrainOptimizer:
    """Thin layer over a torch optimizer, as the trainer and the criterions know it."""

    def __init__(self, params, lr, clip):
        self.params = list(params)
        self.inner = torch.optim.Adam(self.params, lr=lr)
        self.clip = clip

    def zero_grad(self):
        self.inner.zero_grad()

    def backward(self, loss):
        loss.backward()

    def step(self):
        torch.nn.utils.clip_grad_norm_(self.params, self.clip)
        self.inner.step()


class BaseTask:
    def train_step(self, sample, model, criterion, optimizer, update_num, ignore_grad=False):
        model.train()
        loss, size = criterion(model, sample)
        if ignore_grad:
            loss *= 0
        optimizer.backward(loss / size)
        return loss, size, {"nll": loss.item(), "ntokens": size}

    def valid_step(self, sample, model, criterion):
        model.eval()
        with torch.no_grad():
            loss, size = criterion(model, sample)
        return loss.item(), size


class SummaryTask(BaseTask):
    def __init__(self, reg_alpha=0.5):
        self.reg_alpha = reg_alpha

    def train_step(self, sample, model, criterion, optimizer, update_num, ignore_grad=False):
        model.train()
        model.update_num = update_num
        with torch.autograd.profiler.record_function("forward"):
            loss, size, report = criterion.forward_reg(
                model, sample, optimizer, self.reg_alpha, ignore_grad
            )
        return loss, size, report
