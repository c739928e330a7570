import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

VOCAB, MAXLEN, C_DIM, BOS = 24, 8, 2, 1
LAMBDA_C = LAMBDA_Z = 0.1


def make_reviews(count, rng):
    labels = rng.integers(0, C_DIM, count)
    words = rng.integers(4, VOCAB, (count, MAXLEN))
    marks = rng.random((count, MAXLEN)) < 0.4
    words = np.where(marks, 2 + labels[:, None], words)
    words[:, 0] = BOS
    return words, labels


def get_batch(data, label, index, size):
    return torch.from_numpy(data[index:index + size]), torch.from_numpy(label[index:index + size])


class Encoder(nn.Module):
    def __init__(self, dim=16, latent=16):
        super().__init__()
        self.embed = nn.Linear(VOCAB, dim, bias=False)
        self.rnn = nn.GRU(dim, latent, batch_first=True)
        self.mean, self.log_sigma = nn.Linear(latent, latent), nn.Linear(latent, latent)

    def forward(self, one_hot):
        _, h = self.rnn(self.embed(one_hot))
        self.z_mean, self.z_sigma = self.mean(h[0]), torch.exp(0.5 * self.log_sigma(h[0]))
        return self.z_mean + self.z_sigma * torch.randn_like(self.z_mean)


class Generator(nn.Module):
    def __init__(self, dim=16, latent=16):
        super().__init__()
        self.embed = nn.Linear(VOCAB, dim, bias=False)
        self.cell = nn.GRUCell(dim, latent + C_DIM)
        self.out = nn.Linear(latent + C_DIM, VOCAB)

    def forward(self, word, hidden, temperature=0.5):
        hidden = self.cell(self.embed(word), hidden)
        logits = self.out(hidden)
        return F.softmax(logits / temperature, 1), hidden, logits


class Discriminator(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.embed = nn.Linear(VOCAB, dim, bias=False)
        self.conv = nn.Conv1d(dim, 16, 3, padding=1)
        self.fc = nn.Linear(16, C_DIM)

    def forward(self, sentence):
        features = F.relu(self.conv(self.embed(sentence).transpose(1, 2)))
        return self.fc(features.amax(2))


def latent_loss(mean, sigma):
    return 0.5 * torch.mean(mean ** 2 + sigma ** 2 - torch.log(sigma ** 2) - 1)


def train_discriminator(discriminator, data, label, epochs, size):
    optimizer = torch.optim.Adam(discriminator.parameters(), lr=5e-3)
    for epoch in range(epochs):
        for index in range(0, len(data), size):
            words, target = get_batch(data, label, index, size)
            loss = F.cross_entropy(discriminator(F.one_hot(words, VOCAB).float()), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"[Discriminator] epoch {epoch} loss {loss.item():.4f}")


def train_vae_with_attr(encoder, decoder, discriminator, data, label, epochs, size):
    e_opt = torch.optim.Adam(encoder.parameters(), lr=3e-3)
    g_opt = torch.optim.Adam(decoder.parameters(), lr=3e-3)
    discriminator.requires_grad_(False)
    for epoch in range(epochs):
        for batch, index in enumerate(range(0, len(data), size)):
            encoder.zero_grad()
            decoder.zero_grad()
            words, target = get_batch(data, label, index, size)
            one_hot = F.one_hot(words, VOCAB).float()
            code = F.one_hot(target, C_DIM).float()
            hidden = torch.cat([encoder(one_hot), code], 1)
            init_word = F.one_hot(torch.full((len(words),), BOS), VOCAB).float()
            sentence = [init_word]
            vae_loss = 0
            for step in range(MAXLEN - 1):
                if "next_word" in locals():
                    word = next_word
                else:
                    word = init_word
                output, hidden, logits = decoder(word, hidden)
                next_word = output
                vae_loss = vae_loss + F.cross_entropy(logits, words[:, step + 1])
                sentence.append(next_word)
            kl = latent_loss(encoder.z_mean, encoder.z_sigma)
            generated = torch.stack(sentence, 1)
            l_attr_c = F.cross_entropy(discriminator(generated), target)
            encoder(generated)
            l_attr_z = latent_loss(encoder.z_mean, encoder.z_sigma)

            total_vae_loss = vae_loss + kl
            extra_decoder_loss = LAMBDA_C * l_attr_c + LAMBDA_Z * l_attr_z
            total_vae_loss.backward(retain_graph=True)
            extra_decoder_loss.backward(inputs=list(decoder.parameters()))
            e_opt.step()
            g_opt.step()
            if batch % 3 == 0:
                print(f"[Attr] epoch {epoch} batch {batch} language {vae_loss.item() / MAXLEN:.4f} "
                      f"latent {kl.item():.4f} attr_c {l_attr_c.item():.4f} attr_z {l_attr_z.item():.4f}")


if __name__ == "__main__":
    torch.manual_seed(2017)
    data, label = make_reviews(192, np.random.default_rng(0))
    encoder, decoder, discriminator = Encoder(), Generator(), Discriminator()
    train_discriminator(discriminator, data, label, epochs=3, size=32)
    train_vae_with_attr(encoder, decoder, discriminator, data, label, epochs=3, size=32)
    print("checksum %.5f" % sum(p.abs().sum().item() for p in decoder.parameters()))
