import torch


class Body:
    """Ties an agent to an env: keeps the trajectory of the running episode."""

    def __init__(self):
        self.epi_reset()
        self.scores = []

    def epi_reset(self):
        self.log_probs, self.entropies = [], []
        self.states, self.rewards, self.dones = [], [], []

    def record_action(self, log_prob, entropy):
        self.log_probs.append(log_prob)
        self.entropies.append(entropy)

    def record(self, state, reward, done):
        self.states.append(state)
        self.rewards.append(reward)
        self.dones.append(done)
        if done:
            self.scores.append(sum(self.rewards))

    def batch(self):
        return {"states": torch.stack(self.states), "rewards": torch.tensor(self.rewards)}
