import math

import torch

from meta import MetaLearner


class SineTasks:
    """Several sines at once, one-hot coded; the trajectory shows them one after the other."""

    def __init__(self, n_funcs=4, seed=0):
        self.n = n_funcs
        self.gen = torch.Generator().manual_seed(seed)

    def _rand(self, *shape):
        return torch.rand(*shape, generator=self.gen)

    def _points(self, amp, phase, which, count):
        x = self._rand(count, 1) * 10 - 5
        code = torch.zeros(count, self.n)
        code[:, which] = 1
        return torch.cat([x / 5, code], 1), amp[which] * torch.sin(x + phase[which])

    def sample(self, steps_each=4, count=16):
        amp, phase = self._rand(self.n) * 2 + 0.5, self._rand(self.n) * math.pi
        traj, rand = [], []
        for k in range(self.n):
            traj += [self._points(amp, phase, k, count) for _ in range(steps_each)]
            rand.append(self._points(amp, phase, k, count))
        xs, ys = zip(*traj)
        return xs, ys, torch.cat([r[0] for r in rand]), torch.cat([r[1] for r in rand])


def main():
    torch.manual_seed(2)
    learner = MetaLearner([5, 40, 40, 40, 1], n_frozen=2, update_lr=0.03, meta_lr=3e-3)
    train, held_out = SineTasks(seed=1), SineTasks(seed=99)
    test = [held_out.sample() for _ in range(8)]
    print("held out %.4f" % learner.evaluate(test))
    running = 0.0
    for step in range(1, 81):
        _, loss, sizes = learner(*train.sample())
        running += loss
        if step % 20 == 0:
            print("step %3d  meta loss %.4f  grad rln %.3f pln %.3f" % (step, running / 20, *sizes))
            running = 0.0
    print("held out %.4f" % learner.evaluate(test))
    print("checksum %.5f" % sum(p.double().abs().sum().item() for p in learner.parameters()))


if __name__ == "__main__":
    main()
