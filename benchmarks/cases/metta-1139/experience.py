import torch


class Experience:
    """Rollout storage plus the recurrent state of each group of environments."""

    def __init__(self, horizon, n_envs, obs_dim):
        self.horizon = horizon
        self.obs = torch.zeros(horizon, n_envs, obs_dim)
        self.actions = torch.zeros(horizon, n_envs, dtype=torch.long)
        self.logprobs = torch.zeros(horizon, n_envs)
        self.values = torch.zeros(horizon, n_envs)
        self.rewards = torch.zeros(horizon, n_envs)
        self._lstm = {}
        self.ptr = 0

    @property
    def full(self):
        return self.ptr >= self.horizon

    def reset_for_rollout(self):
        self.ptr = 0

    def get_lstm_state(self, env_id):
        entry = self._lstm.get(env_id)
        return (None, None) if entry is None else (entry["lstm_h"], entry["lstm_c"])

    def store(self, obs, actions, logprobs, values, rewards, env_id, lstm_state=None):
        t, cols = self.ptr, slice(env_id, env_id + obs.size(0))
        self.obs[t, cols] = obs
        self.actions[t, cols] = actions
        self.logprobs[t, cols] = logprobs.detach()
        self.values[t, cols] = values.detach()
        self.rewards[t, cols] = rewards
        if lstm_state is not None:
            self._lstm[env_id] = lstm_state
        self.ptr += 1
