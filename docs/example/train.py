"""A GRU is trained on six batches. It dies in the second one; repaired, it runs, and its total holds numbers."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
rnn, head = nn.GRU(8, 16), nn.Linear(16, 1)
optimizer = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
batches = [(torch.randn(5, 4, 8), torch.randn(5, 4, 1)) for _ in range(6)]

h = torch.zeros(1, 4, 16)
total = 0.0
for x, y in batches:
    out, h = rnn(x, h)
    loss = F.mse_loss(head(out), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss
print(total / len(batches))
