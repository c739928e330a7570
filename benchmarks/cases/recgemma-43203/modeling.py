import torch
import torch.nn.functional as F
from torch import nn


class Config:
    vocab_size = 40
    hidden_size = 32
    lru_width = 32
    conv_width = 4
    layers = 2
    use_cache = False


class GatedRecurrence(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config.lru_width
        self.input_gate = nn.Linear(width, width)
        self.recurrent_gate = nn.Linear(width, width)
        self.decay = nn.Parameter(torch.linspace(-1.0, 2.0, width))
        self.recurrent_states = None

    def forward(self, x, position_ids):
        reset = (position_ids == 0).unsqueeze(-1)
        log_a = -8.0 * torch.sigmoid(self.recurrent_gate(x)) * F.softplus(self.decay) * 0.1
        a = torch.exp(log_a)
        multiplier = torch.where(reset, torch.ones_like(a), torch.sqrt(1 - a * a + 1e-6))
        gated = x * torch.sigmoid(self.input_gate(x)) * multiplier
        x, self.recurrent_states = self.scan(gated, a * ~reset, self.recurrent_states)
        return x

    def scan(self, x, gate, state):
        if state is None:
            state = x.new_zeros(x.shape[0], x.shape[2])
        outputs = []
        for t in range(x.shape[1]):
            state = gate[:, t] * state + x[:, t]
            outputs.append(state)
        return torch.stack(outputs, 1), state


class RecurrentBlock(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.norm = nn.LayerNorm(config.hidden_size)
        self.linear_x = nn.Linear(config.hidden_size, config.lru_width)
        self.linear_y = nn.Linear(config.hidden_size, config.lru_width)
        self.linear_out = nn.Linear(config.lru_width, config.hidden_size)
        self.conv_width = config.conv_width
        self.conv_1d = nn.Conv1d(config.lru_width, config.lru_width, config.conv_width, groups=config.lru_width)
        self.rg_lru = GatedRecurrence(config)
        self.conv1d_state = None

    def forward(self, hidden, position_ids, use_cache):
        residual, hidden = hidden, self.norm(hidden)
        y_branch = F.gelu(self.linear_y(hidden))
        x_branch = self.linear_x(hidden).transpose(1, 2)
        if use_cache:
            if hidden.shape[1] != 1:
                history = F.pad(x_branch, (self.conv_width - 1, 0))
            else:
                history = torch.cat([self.conv1d_state, x_branch], -1)
            self.conv1d_state = history[:, :, -(self.conv_width - 1):]
            x_branch = self.conv_1d(history)
        else:
            x_branch = self.conv_1d(F.pad(x_branch, (self.conv_width - 1, 0)))
        x_branch = self.rg_lru(x_branch.transpose(1, 2), position_ids)
        return residual + self.linear_out(x_branch * y_branch)


class RecurrentLM(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocab_size, config.hidden_size)
        self.blocks = nn.ModuleList(RecurrentBlock(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.hidden_size)

    def forward(self, ids, labels=None, position_ids=None, use_cache=None):
        use_cache = self.config.use_cache if use_cache is None else use_cache
        if position_ids is None:
            position_ids = torch.arange(ids.shape[1]).expand_as(ids)
        hidden = self.embed(ids)
        for block in self.blocks:
            hidden = block(hidden, position_ids, use_cache)
        logits = self.norm(hidden) @ self.embed.weight.t() * 0.3
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        return loss, logits

    def setup_cache(self, batch):
        for block in self.blocks:
            block.conv1d_state = None
            block.rg_lru.recurrent_states = torch.zeros(batch, self.config.lru_width)

    @torch.no_grad()
    def generate(self, ids, count):
        self.setup_cache(len(ids))
        _, logits = self(ids, use_cache=True)
        for _ in range(count):
            ids = torch.cat([ids, logits[:, -1:].argmax(-1)], 1)
            position = torch.full((len(ids), 1), ids.shape[1] - 1)
            _, logits = self(ids[:, -1:], position_ids=position, use_cache=True)
        return ids
