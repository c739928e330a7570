import torch
import torch.nn.functional as F


class ConsistencyCriterion:
    """Label-smoothed cross entropy of two dropout passes plus their symmetric KL."""

    def __init__(self, pad=0, smoothing=0.1):
        self.pad = pad
        self.smoothing = smoothing

    def __call__(self, model, sample):
        logits = model(sample["source"], sample["prev_target"])
        return self._nll(logits, sample["target"]), sample["ntokens"]

    def _nll(self, logits, target):
        return F.cross_entropy(
            logits.flatten(0, 1), target.flatten(), ignore_index=self.pad,
            label_smoothing=self.smoothing, reduction="sum",
        )

    def _kl(self, logits, keep):
        first, second = F.log_softmax(logits, -1).chunk(2, 0)
        forward = F.kl_div(first, second, log_target=True, reduction="none").sum(-1)
        backward = F.kl_div(second, first, log_target=True, reduction="none").sum(-1)
        return 0.5 * ((forward + backward) * keep).sum()

    def forward_reg(self, model, sample, optimizer, weight, ignore_grad=False):
        doubled = {
            name: torch.cat([sample[name], sample[name]], 0)
            for name in ("source", "prev_target", "target")
        }
        logits = model(doubled["source"], doubled["prev_target"])
        nll = self._nll(logits, doubled["target"])
        keep = sample["target"].ne(self.pad)
        kl = self._kl(logits, keep)
        loss = nll + weight * kl
        if ignore_grad:
            loss = loss * 0
        optimizer.backward(loss / sample["ntokens"])
        report = {"nll": nll.item(), "kl": kl.item(), "ntokens": sample["ntokens"]}
        return loss, sample["ntokens"], report
