import os

import torch

from integrators import Reporter, integrate
from model import PairModel, PairNet
from state import SimState


def rss_mb():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2 ** 20


def cluster(side=3, spacing=1.4, temperature=0.05):
    axis = torch.arange(side, dtype=torch.float64) * spacing
    pos = torch.cartesian_prod(axis, axis, axis)
    pos = pos - pos.mean(0) + 0.02 * torch.randn_like(pos)
    masses = torch.ones(len(pos), dtype=torch.float64)
    momenta = torch.randn_like(pos) * (temperature * masses[:, None]).sqrt()
    return SimState(pos, masses, momenta - momenta.mean(0))


def show(row):
    step, pot, kin, temp = row
    print("step %4d  E_pot %.5f  E_tot %.5f  T %.4f  rss %.0f MB" % (step, pot, pot + kin, temp, rss_mb()))


def main():
    torch.manual_seed(0)
    model = PairModel(PairNet())
    reporter = Reporter(every=30)
    final = integrate(cluster(), model, n_steps=150, dt=0.01, reporter=reporter, on_row=show)
    drift = (reporter.rows[-1][1] + reporter.rows[-1][2]) - (reporter.rows[0][1] + reporter.rows[0][2])
    print("energy drift %.2e  checksum %.6f" % (drift, final.positions.abs().sum().item()))


if __name__ == "__main__":
    main()
