import torch
import torch.nn as nn
from torch.distributions import Categorical


class PolicyState:
    def __init__(self, lstm_h=None, lstm_c=None):
        self.lstm_h = lstm_h
        self.lstm_c = lstm_c


class LSTMPolicy(nn.Module):
    def __init__(self, obs_dim, hidden, n_actions):
        super().__init__()
        self.hidden = hidden
        self.encoder = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh())
        self.cell = nn.LSTMCell(hidden, hidden)
        self.actor = nn.Linear(hidden, n_actions)
        self.critic = nn.Linear(hidden, 1)

    def step(self, obs, state):
        if state.lstm_h is None:
            state.lstm_h = torch.zeros(obs.size(0), self.hidden)
            state.lstm_c = torch.zeros(obs.size(0), self.hidden)
        state.lstm_h, state.lstm_c = self.cell(self.encoder(obs), (state.lstm_h, state.lstm_c))
        return Categorical(logits=self.actor(state.lstm_h)), self.critic(state.lstm_h).squeeze(-1)

    def act(self, obs, state):
        dist, value = self.step(obs, state)
        action = dist.sample()
        return action, dist.log_prob(action), value

    def unroll(self, obs, actions):
        state, logps, ents, values = PolicyState(), [], [], []
        for t in range(obs.size(0)):
            dist, value = self.step(obs[t], state)
            logps.append(dist.log_prob(actions[t]))
            ents.append(dist.entropy())
            values.append(value)
        return torch.stack(logps), torch.stack(ents), torch.stack(values)
