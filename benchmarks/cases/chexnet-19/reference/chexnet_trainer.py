import os

import torch
from torch.autograd import Variable
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader

from densenet import SmallDenseNet


def rss_mb():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2 ** 20


class ChexnetTrainer:
    @staticmethod
    def train(train_set, val_set, class_count, batch, epochs):
        model = SmallDenseNet(class_count)
        loader_train = DataLoader(train_set, batch_size=batch, shuffle=True)
        loader_val = DataLoader(val_set, batch_size=batch)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01, betas=(0.9, 0.999))
        scheduler = ReduceLROnPlateau(optimizer, factor=0.1, patience=5, mode="min")
        loss = torch.nn.BCELoss()
        best = 1e5
        for epoch in range(epochs):
            loss_train = ChexnetTrainer.epoch_train(model, loader_train, optimizer, loss)
            loss_val, tensor_mean = ChexnetTrainer.epoch_val(model, loader_val, loss)
            scheduler.step(tensor_mean.item())
            tag = "save" if loss_val < best else "----"
            best = min(best, loss_val)
            print("Epoch [%d] [%s] train %.4f val %.4f" % (epoch + 1, tag, loss_train, loss_val))
        return model

    @staticmethod
    def epoch_train(model, loader, optimizer, loss):
        model.train()
        total = 0.0
        for inp, target in loader:
            var_out = model(Variable(inp))
            value = loss(var_out, Variable(target))
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
            total += value.item()
        return total / len(loader)

    @staticmethod
    def epoch_val(model, loader, loss):
        model.eval()
        loss_val = 0.0
        norm = 0
        tensor_mean = 0
        with torch.no_grad():
            for i, (inp, target) in enumerate(loader):
                var_in = Variable(inp)
                var_target = Variable(target)
                var_out = model(var_in)
                loss_tensor = loss(var_out, var_target)
                tensor_mean = tensor_mean + loss_tensor
                loss_val += loss_tensor.item()
                norm += 1
                if i % 8 == 7:
                    print("   val batch %2d  rss %.0f MB" % (i + 1, rss_mb()))
        return loss_val / norm, tensor_mean / norm
