import torch

from actor_critic import ActorCritic
from body import Body

SPEC = dict(gamma=0.9, entropy_coef=0.01, add_entropy=True, training_epoch=4,
            state_dim=3, action_dim=2, hid=32, actor_lr=0.02, critic_lr=0.02)


class Corridor:
    """Walk to the end that the signal names; one step is one unit."""

    def reset(self):
        self.pos, self.t = 0, 0
        self.goal = 3 if torch.rand(()) < 0.5 else -3
        return self.obs()

    def obs(self):
        return torch.tensor([self.pos / 3.0, self.goal / 3.0, self.t / 12.0])

    def step(self, action):
        self.pos += 1 if action == 1 else -1
        self.t += 1
        hit = self.pos == self.goal
        reward = 1.0 if hit else -0.1
        return self.obs(), reward, hit or self.t >= 12


def main():
    torch.manual_seed(0)
    env, body = Corridor(), Body()
    agent = ActorCritic(body, SPEC)
    print("actor %.6f critic %.6f" % (agent.actor.checksum(), agent.critic.checksum()))
    for epi in range(1, 91):
        state, done = env.reset(), False
        body.epi_reset()
        while not done:
            action = agent.act(state)
            next_state, reward, done = env.step(action)
            body.record(state, reward, done)
            state = next_state
        policy_loss, val_loss = agent.train()
        if epi % 15 == 0:
            score = sum(body.scores[-15:]) / 15
            print("epi %3d  score %.3f  policy loss %.4f  value loss %.4f" % (epi, score, policy_loss, val_loss))
    print("actor %.6f critic %.6f" % (agent.actor.checksum(), agent.critic.checksum()))


if __name__ == "__main__":
    main()
