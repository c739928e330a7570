import torch
from torch.distributions import Categorical

from net import MLPNet


class ActorCritic:
    def __init__(self, body, spec):
        self.body = body
        self.gamma = spec["gamma"]
        self.entropy_coef = spec["entropy_coef"]
        self.add_entropy = spec["add_entropy"]
        self.training_epoch = spec["training_epoch"]
        self.actor = MLPNet(spec["state_dim"], spec["hid"], spec["action_dim"], spec["actor_lr"])
        self.critic = MLPNet(spec["state_dim"], spec["hid"], 1, spec["critic_lr"])

    def act(self, state):
        pd = Categorical(logits=self.actor(state))
        action = pd.sample()
        self.body.record_action(pd.log_prob(action), pd.entropy())
        return int(action)

    def calc_returns(self, rewards):
        out, run = torch.zeros(len(rewards)), 0.0
        for t in reversed(range(len(rewards))):
            run = rewards[t] + self.gamma * run
            out[t] = run
        return out

    def calc_advs(self, batch):
        returns = self.calc_returns(batch["rewards"])
        with torch.no_grad():
            advs = returns - self.critic(batch["states"]).squeeze(-1)
        return (advs - advs.mean()) / (advs.std() + 1e-6), returns

    def calc_policy_loss(self, advs):
        assert len(self.body.log_probs) == len(advs)
        log_probs = torch.tensor(self.body.log_probs, requires_grad=True)
        entropies = torch.tensor(self.body.entropies, requires_grad=True)
        if self.add_entropy:
            policy_loss = (-log_probs * advs) - self.entropy_coef * entropies
        else:
            policy_loss = -log_probs * advs
        return torch.mean(policy_loss)

    def train_critic(self, batch, returns):
        total = 0.0
        for _ in range(self.training_epoch):
            preds = self.critic(batch["states"]).squeeze(-1)
            total += self.critic.training_step(self.critic.loss_fn(preds, returns)).item()
        return total / self.training_epoch

    def train(self):
        batch = self.body.batch()
        advs, returns = self.calc_advs(batch)
        policy_loss = self.actor.training_step(self.calc_policy_loss(advs))
        val_loss = self.train_critic(batch, returns)
        return policy_loss.item(), val_loss
