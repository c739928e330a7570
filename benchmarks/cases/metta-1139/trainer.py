import torch

from experience import Experience
from policy import LSTMPolicy, PolicyState


class Trainer:
    def __init__(self, vecenv, hidden=128, horizon=24, lr=3e-3, gamma=0.9):
        self.vecenv, self.gamma = vecenv, gamma
        self.policy = LSTMPolicy(vecenv.obs_dim, hidden, vecenv.n_actions)
        self.experience = Experience(horizon, vecenv.n_envs, vecenv.obs_dim)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=lr)
        self.obs = vecenv.reset()

    def rollout(self):
        exp = self.experience
        exp.reset_for_rollout()
        while not exp.full:
            env_id = 0
            state = PolicyState(*exp.get_lstm_state(env_id))
            actions, logp, values = self.policy.act(self.obs, state)
            lstm_state_to_store = None
            if state.lstm_h is not None:
                lstm_state_to_store = {"lstm_h": state.lstm_h, "lstm_c": state.lstm_c}
            next_obs, rewards = self.vecenv.step(actions)
            exp.store(self.obs, actions, logp, values, rewards, env_id, lstm_state=lstm_state_to_store)
            self.obs = next_obs
        return exp.rewards.mean().item()

    def advantages(self):
        exp, out, run = self.experience, torch.zeros_like(self.experience.rewards), 0.0
        for t in reversed(range(exp.horizon)):
            run = exp.rewards[t] + self.gamma * run
            out[t] = run
        adv = out - exp.values
        return out, (adv - adv.mean()) / (adv.std() + 1e-6)

    def train(self, epochs=2, clip=0.2):
        exp = self.experience
        returns, adv = self.advantages()
        for _ in range(epochs):
            logp, ent, values = self.policy.unroll(exp.obs, exp.actions)
            ratio = (logp - exp.logprobs).exp()
            pg = -torch.min(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv).mean()
            loss = pg + 0.5 * (values - returns).pow(2).mean() - 0.01 * ent.mean()
            self.optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.policy.parameters(), 0.5)
            self.optimizer.step()
        return loss.item()
