from state import SimState


def initialise(state, model):
    out = model(state)
    return SimState(state.positions, state.masses, state.momenta, out["energy"], out["forces"], out["stress"])


def nve_step(state, model, dt):
    half = state.momenta + 0.5 * dt * state.forces
    state.positions = state.positions + dt * half / state.masses[:, None]
    out = model(state)
    state.energy, state.forces, state.stress = out["energy"], out["forces"], out["stress"]
    state.momenta = half + 0.5 * dt * state.forces
    return state


class Reporter:
    def __init__(self, every):
        self.every = every
        self.rows = []

    def report(self, step, state):
        if step % self.every == 0:
            self.rows.append((step, state.energy.item(), state.kinetic.item(), state.temperature.item()))
            return self.rows[-1]
        return None


def integrate(state, model, n_steps, dt, reporter, on_row):
    state = initialise(state, model)
    for step in range(1, n_steps + 1):
        state = nve_step(state, model, dt)
        row = reporter.report(step, state)
        if row is not None:
            on_row(row)
    return state
