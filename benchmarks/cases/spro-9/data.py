import string

import torch

letters = string.ascii_lowercase + " '"
n_letters = len(letters)

ENDINGS = {
    "Russian": ["ov", "sky", "in", "enko"],
    "Italian": ["ini", "etti", "ello", "ano"],
    "Greek": ["akis", "opoulos", "idis"],
    "Dutch": ["stra", "huis", "sma"],
}
all_categories = sorted(ENDINGS)
STEMS = ["mar", "kal", "ton", "ber", "gal", "vor", "pet", "lem", "dra", "nik"]


def build_corpus():
    return {c: [s + e for s in STEMS for e in ENDINGS[c]] for c in all_categories}


def line_to_tensor(line):
    out = torch.zeros(len(line), 1, n_letters)
    for i, ch in enumerate(line):
        out[i][0][letters.index(ch)] = 1
    return out


def random_pair(corpus, gen):
    c = int(torch.randint(len(all_categories), (1,), generator=gen))
    lines = corpus[all_categories[c]]
    line = lines[int(torch.randint(len(lines), (1,), generator=gen))]
    return all_categories[c], line, torch.tensor([c]), line_to_tensor(line)
