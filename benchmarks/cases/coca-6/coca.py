import torch
import torch.nn as nn
import torch.nn.functional as F


class CoCa(nn.Module):
    def __init__(self, img_encoder, image_dim, num_tokens, dim=32, heads=4,
                 caption_weight=1.0, contrastive_weight=1.0):
        super().__init__()
        self.img_encoder = img_encoder
        self.caption_weight, self.contrastive_weight = caption_weight, contrastive_weight
        self.token_emb = nn.Embedding(num_tokens, dim)
        self.text_rnn = nn.GRU(dim, dim, batch_first=True)
        self.img_proj = nn.Linear(image_dim, dim)
        self.cross = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.to_logits = nn.Linear(dim, num_tokens)
        self.temperature = nn.Parameter(torch.tensor(1.0))

    def embed_image(self, images):
        tokens = self.img_proj(self.img_encoder(images))
        return tokens.mean(1), tokens

    def embed_text(self, text):
        out, _ = self.text_rnn(self.token_emb(text))
        return out[:, -1], out

    def similarity(self, images, text):
        img, _ = self.embed_image(images)
        txt, _ = self.embed_text(text)
        return F.normalize(txt, dim=-1) @ F.normalize(img, dim=-1).t()

    def forward(self, text, images):
        inp, labels = text[:, :-1], text[:, 1:]
        txt, txt_tokens = self.embed_text(inp)
        img, img_tokens = self.embed_image(images)
        attended, _ = self.cross(txt_tokens, img_tokens, img_tokens, need_weights=False)
        caption = F.cross_entropy(self.to_logits(txt_tokens + attended).transpose(1, 2), labels)
        sim = F.normalize(txt, dim=-1) @ F.normalize(img, dim=-1).t() * self.temperature.exp()
        target = torch.arange(len(text))
        contrastive = (F.cross_entropy(sim, target) + F.cross_entropy(sim.t(), target)) / 2
        return self.caption_weight * caption + self.contrastive_weight * contrastive
