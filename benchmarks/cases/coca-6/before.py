import torch

from coca import CoCa
from extractor import Extractor
from vit import ViT

COLOURS, PLACES = 3, 4
NUM_TOKENS = 1 + COLOURS + PLACES


def pairs(n, gen):
    """One coloured quarter in a noisy picture and the words for it."""
    colour = torch.randint(COLOURS, (n,), generator=gen)
    place = torch.randint(PLACES, (n,), generator=gen)
    img = 0.2 * torch.randn(n, 3, 16, 16, generator=gen)
    for i in range(n):
        r, c = int(place[i]) // 2 * 8, int(place[i]) % 2 * 8
        img[i, colour[i], r:r + 8, c:c + 8] += 1.0
    start = torch.zeros(n, dtype=torch.long)
    text = torch.stack([start, 1 + colour, 1 + COLOURS + place, start], 1)
    return img, text


@torch.no_grad()
def retrieval(model, gen):
    img, text = pairs(64, gen)
    best = model.similarity(img, text[:, :-1]).argmax(1)
    return (text[best] == text).all(1).float().mean().item()


def checksum(module):
    return sum(p.double().abs().sum().item() for p in module.parameters())


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(4)
    vit = ViT(dim=32)
    vit = Extractor(vit, return_embeddings_only=True)
    model = CoCa(vit, image_dim=32, num_tokens=NUM_TOKENS)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    print("image encoder %.5f  all %.5f" % (checksum(vit), checksum(model)))
    total = 0.0
    for step in range(1, 81):
        img, text = pairs(12, gen)
        loss = model(text, img)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        if step % 20 == 0:
            print("step %3d  loss %.4f  retrieval %.3f" % (step, total / 20, retrieval(model, gen)))
            total = 0.0
    print("image encoder %.5f  all %.5f" % (checksum(vit), checksum(model)))


if __name__ == "__main__":
    main()
