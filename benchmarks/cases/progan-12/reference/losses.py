import torch


class GANLoss:
    def __init__(self, dis):
        self.dis = dis

    def dis_loss(self, real, fake, depth, alpha):
        raise NotImplementedError

    def gen_loss(self, fake, depth, alpha):
        raise NotImplementedError


class WassersteinGP(GANLoss):
    def __init__(self, dis, reg_lambda=10.0, drift=0.001, use_gp=True):
        super().__init__(dis)
        self.reg_lambda = reg_lambda
        self.drift = drift
        self.use_gp = use_gp

    def _penalty(self, real, fake, depth, alpha):
        n = real.shape[0]
        eps = torch.rand(n, 1, 1, 1)
        mixed = eps * real + (1 - eps) * fake
        mixed.requires_grad = True
        scores = self.dis(mixed, depth, alpha)
        slope = torch.autograd.grad(outputs=scores, inputs=mixed, grad_outputs=torch.ones_like(scores),
                                    create_graph=True, retain_graph=True)[0]
        slope = slope.view(n, -1)
        return self.reg_lambda * ((slope.norm(p=2, dim=1) - 1) ** 2).mean()

    def dis_loss(self, real, fake, depth, alpha):
        on_fake = self.dis(fake, depth, alpha)
        on_real = self.dis(real, depth, alpha)
        loss = on_fake.mean() - on_real.mean() + self.drift * (on_real ** 2).mean()
        if self.use_gp:
            loss = loss + self._penalty(real.detach(), fake.detach(), depth, alpha)
        return loss

    def gen_loss(self, fake, depth, alpha):
        return -self.dis(fake, depth, alpha).mean()
