import torch
import torch.nn as nn

from data import all_categories, build_corpus, line_to_tensor, n_letters, random_pair
from model import NameRNN

torch.manual_seed(3)
gen = torch.Generator().manual_seed(11)
corpus = build_corpus()
n_hidden = 48
n_steps = 600
print_every = 120

rnn = NameRNN(n_letters, n_hidden, len(all_categories))

# quick look at what one step gives
sample = line_to_tensor("markov")
out, _ = rnn(sample[0], rnn.init_hidden())
print("sample output", [round(v, 3) for v in out[0].tolist()])

criterion = nn.NLLLoss()


def category_of(output):
    return all_categories[int(output.argmax(1))]


def run_line(line_tensor):
    hidden = rnn.init_hidden()
    for i in range(line_tensor.size(0)):
        output, hidden = rnn(line_tensor[i], hidden)
    return output


def train(category_tensor, line_tensor):
    optimizer.zero_grad()
    output = run_line(line_tensor)
    loss = criterion(output, category_tensor)
    loss.backward()
    optimizer.step()
    return output, loss.item()


def accuracy():
    hits, total = 0, 0
    with torch.no_grad():
        for cat, lines in corpus.items():
            for line in lines:
                hits += category_of(run_line(line_to_tensor(line))) == cat
                total += 1
    return hits / total


def checksum(net):
    return sum(p.double().abs().sum().item() for p in net.parameters())


rnn = NameRNN(n_letters, n_hidden, len(all_categories))
optimizer = torch.optim.SGD(rnn.parameters(), lr=0.03)
print("weights at start %.6f" % checksum(rnn))

current = 0.0
all_losses = []
for step in range(1, n_steps + 1):
    category, line, category_tensor, line_tensor = random_pair(corpus, gen)
    output, loss = train(category_tensor, line_tensor)
    current += loss
    if step % print_every == 0:
        guess = category_of(output)
        mark = "ok" if guess == category else "wrong (%s)" % category
        print("%5d  loss %.4f  %s / %s %s" % (step, current / print_every, line, guess, mark))
        all_losses.append(current / print_every)
        current = 0.0

print("accuracy %.3f" % accuracy())
print("weights at end   %.6f" % checksum(rnn))
