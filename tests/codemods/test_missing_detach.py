"""GF303: a loss leads into a network that it does not train."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.examine import Job, examine
from graphfix.run.selection import Wanted

from .toys import PREAMBLE, repaired, told

ANEW = """
fake = generator(z)
d_loss = criterion(critic(real), ones) + criterion(critic(fake), zeros)
critic_optimizer.zero_grad()
d_loss.backward()
critic_optimizer.step()

fake = generator(z)
g_loss = criterion(critic(fake), ones)
generator_optimizer.zero_grad()
g_loss.backward()
generator_optimizer.step()
"""
LEFT_ALONE = {
    "what the critic sees is detached": """
fake = generator(z)
d_loss = criterion(critic(real), ones) + criterion(critic(fake.detach()), zeros)
critic_optimizer.zero_grad()
d_loss.backward()
critic_optimizer.step()

g_loss = criterion(critic(fake), ones)
generator_optimizer.zero_grad()
g_loss.backward()
generator_optimizer.step()
""",
    "no_grad keeps the graph away": ANEW.replace("fake = generator(z)", "with torch.no_grad():\n    fake = generator(z)", 1),
}


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: str) -> None:
    assert told(program) == set()


TOLD = {
    "the critic sees what the generator makes": """
fake = generator(z)
d_loss = criterion(critic(real), ones) + criterion(critic(fake), zeros)
critic_optimizer.zero_grad()
d_loss.backward()
critic_optimizer.step()

g_loss = criterion(critic(fake), ones)
generator_optimizer.zero_grad()
g_loss.backward()
generator_optimizer.step()
""",
    "retaining hides it": """
fake = generator(z)
d_loss = criterion(critic(real), ones) + criterion(critic(fake), zeros)
critic_optimizer.zero_grad()
d_loss.backward(retain_graph=True)
critic_optimizer.step()

g_loss = criterion(critic(fake), ones)
generator_optimizer.zero_grad()
g_loss.backward()
generator_optimizer.step()
""",
}


@pytest.mark.parametrize("program", TOLD.values(), ids=TOLD)
def test_what_is_told(program: str) -> None:
    assert told(program) == {"GF303"}


SPARSE = """
backbone, head = nn.Linear(3, 6), nn.Linear(6, 1)
opt = torch.optim.SGD(head.parameters(), lr=0.1)
for step in range(3):
    features = torch.tanh(backbone(x))
    fit = head(features).pow(2).mean()
    sparse = features.abs().mean()
    opt.zero_grad()
    fit.backward()
    sparse.backward()
    opt.step()
"""


def test_what_leaves_another_walk_nothing_is_no_repair(tmp_path: Path) -> None:
    assert repaired(tmp_path, SPARSE, select=("GF303",)) == SPARSE


CALLED_BACK = """
import sched
gen, disc = nn.Linear(3, 4), nn.Linear(4, 1)
opt_g, opt_d = torch.optim.SGD(gen.parameters(), 0.1), torch.optim.SGD(disc.parameters(), 0.1)
for step in range(4):
    fake = gen(x)
    for _ in range(2):
        d_loss = disc(fake).mean()
        opt_d.zero_grad()
        d_loss.backward(retain_graph=True)
        opt_d.step()
    g_loss = -disc(fake).mean()
    opt_g.zero_grad()
    later = sched.scheduler()
    later.enter(0, 1, g_loss.backward)
    later.run()
    opt_g.step()
"""


CALLED_AT_THE_END = CALLED_BACK.replace("import sched\n", "from contextlib import ExitStack\n").replace(
    """    later = sched.scheduler()
    later.enter(0, 1, g_loss.backward)
    later.run()
""",
    """    with ExitStack() as stack:
        stack.callback(g_loss.backward)
""",
)


def test_a_walk_at_the_end_of_an_exit_stack_comes_behind_its_block(tmp_path: Path) -> None:
    cut = CALLED_AT_THE_END.replace("disc(fake).mean()\n        opt", "disc(fake.detach()).mean()\n        opt")
    assert repaired(tmp_path, CALLED_AT_THE_END, select=("GF303", "GF305")) == cut.replace("retain_graph=True", "")


TRAINED_BEHIND_A_YIELD = {
    "a context": """
@contextlib.contextmanager
def updating(opt):
    opt.zero_grad()
    yield
    opt.step()
for _ in range(4):
    with updating(opt_g):
        loss = disc(gen(x)).mean()
        opt_d.zero_grad()
        loss.backward()
        opt_d.step()
""",
    "a method that is a context of a stack": """
class Steps:
    @contextlib.contextmanager
    def over(self, opt):
        opt.zero_grad()
        try:
            yield opt
        finally:
            opt.step()
for _ in range(4):
    with contextlib.ExitStack() as stack:
        stack.enter_context(Steps().over(opt_g))
        loss = disc(gen(x)).mean()
        opt_d.zero_grad()
        loss.backward()
        opt_d.step()
""",
    "a decorator": """
@contextlib.contextmanager
def updating(opt):
    opt.zero_grad()
    yield
    opt.step()
@updating(opt_g)
def play():
    loss = disc(gen(x)).mean()
    opt_d.zero_grad()
    loss.backward()
    opt_d.step()
for _ in range(4):
    play()
""",
    "an object": """
class Updating:
    def __init__(self, opt):
        self.opt = opt
    def __enter__(self):
        self.opt.zero_grad()
    def __exit__(self, *told):
        self.opt.step()
for _ in range(4):
    with Updating(opt_g):
        loss = disc(gen(x)).mean()
        opt_d.zero_grad()
        loss.backward()
        opt_d.step()
""",
    "a loop over a generator": """
def once(opt):
    opt.zero_grad()
    yield opt
    opt.step()
for _ in range(4):
    for _ in once(opt_g):
        loss = disc(gen(x)).mean()
        opt_d.zero_grad()
        loss.backward()
        opt_d.step()
""",
}
NETWORKS = """
import contextlib
gen, disc = nn.Linear(3, 4), nn.Linear(4, 1)
opt_g, opt_d = torch.optim.SGD(gen.parameters(), 0.1), torch.optim.SGD(disc.parameters(), 0.1)
"""


@pytest.mark.parametrize("program", TRAINED_BEHIND_A_YIELD.values(), ids=TRAINED_BEHIND_A_YIELD)
def test_a_network_that_a_step_behind_a_yield_trains_keeps_its_gradients(tmp_path: Path, program: str) -> None:
    assert repaired(tmp_path, NETWORKS + program, select=("GF303",)) == NETWORKS + program


def test_a_walk_that_is_only_called_back_keeps_its_gradients(tmp_path: Path) -> None:
    assert repaired(tmp_path, CALLED_BACK, select=("GF303", "GF305")) == CALLED_BACK


CRITIC = """
class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, image):
        flat = image.view(image.shape[0], -1)
        return self.layer(flat)

judge = Critic()
judge_optimizer = torch.optim.SGD(judge.parameters(), lr=0.1)
for _ in range(3):
    fake = generator(x)
    judge_optimizer.zero_grad()
    (judge(fake).mean() - judge(real).mean()).backward()
    judge_optimizer.step()
    generator_optimizer.zero_grad()
    (-judge(fake)).mean().backward()
    generator_optimizer.step()
"""


def test_a_line_that_all_calls_of_a_module_go_through_is_not_cut(tmp_path: Path) -> None:
    """The generator's loss needs its gradient there; what the critic's loss gives it is cut."""
    path = tmp_path / "train.py"
    path.write_text(PREAMBLE + CRITIC)
    after = examine(path, Job((tmp_path,), Wanted(("GF303",), unsafe=True), repair=True)).after.decode()
    assert after == PREAMBLE + CRITIC.replace("(judge(fake).mean() -", "(judge(fake.detach()).mean() -")


FOLLOWED = {
    "loaded": "slow.load_state_dict(net.state_dict())",
    "copied": "import copy\nslow = copy.deepcopy(net)",
    "written": "for s, p in zip(slow.parameters(), net.parameters()):\n    s.data.copy_(p.data)",
    "mixed": "for s, p in zip(slow.parameters(), net.parameters()):\n    s.data.copy_(0.9 * s.data + 0.1 * p.data)",
    "bound": "for s, p in zip(slow.parameters(), net.parameters()):\n    s.data = p.data.clone()",
    "under no_grad": "with torch.no_grad():\n    for s, p in zip(slow.parameters(), net.parameters()):\n        s.copy_(p)",
}
TARGET = """
net, slow = nn.Linear(4, 2), nn.Linear(4, 2)
{follow}
opt = torch.optim.Adam({trained})
for state, following in [(torch.ones(3, 4), torch.ones(3, 4))] * 3:
    goal = {goal}
    loss = F.mse_loss(net(state), goal)
    opt.zero_grad()
    loss.backward()
    {last}
    opt.step()
"""


def target(
    follow: str = FOLLOWED["loaded"], trained: str = "net.parameters()", goal: str = "0.9 * slow(following)", last: str = ""
) -> str:
    return TARGET.format(follow=follow, trained=trained, goal=goal, last=last)


@pytest.mark.parametrize("follow", FOLLOWED.values(), ids=FOLLOWED)
def test_a_target_network_that_nobody_trains(tmp_path: Path, follow: str) -> None:
    assert told(target(follow)) == {"GF303"}
    assert "goal = (0.9 * slow(following)).detach()" in repaired(tmp_path, target(follow), unsafe=True, select=("GF303",))


def test_a_teacher_in_evaluation_mode() -> None:
    assert told(target("slow.load_state_dict(torch.load('a'))\nslow.eval()")) == {"GF303"}
    assert told(target("slow.load_state_dict(torch.load('a'))")) == set()


def test_gradients_that_are_only_clipped() -> None:
    assert told(target(last="for p in net.parameters():\n        p.grad.data.clamp_(-1, 1)")) == {"GF303"}


HOLDER = """
from elsewhere import space

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.space, self.layer = space, nn.Linear(4, 2)

    def forward(self, x):
        return self.layer(x)

net, slow = Net(), Net()
"""


def test_a_network_that_holds_something_unknown() -> None:
    assert told(HOLDER + target().split("\n", 2)[2]) == {"GF303"}


LEADS_ON = {
    "it is trained": target(trained="[*net.parameters(), *slow.parameters()]"),
    "it is detached": target(goal="slow(following).detach()"),
    "no gradient is recorded": target("slow.requires_grad_(False)"),
    "it is no copy": target("slow.cpu()"),
    "what is trained lies behind it": target(goal="slow(net(following) @ torch.ones(2, 4))"),
    "its gradient is read": target(last="print([p.grad for p in slow.parameters()])"),
    "another optimizer has it": target("slow.load_state_dict(net.state_dict())\nother = make(slow)", last="other.step()"),
}


@pytest.mark.parametrize("program", LEADS_ON.values(), ids=LEADS_ON)
def test_a_network_that_may_be_trained_or_passed_through(program: str) -> None:
    assert "GF303" not in told(program)


def in_a_loop(text: str) -> str:
    return "for _ in range(9):\n" + "".join(f"    {line}\n" for line in text.strip().split("\n"))


def test_a_fake_that_is_made_for_the_critic_alone(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(PREAMBLE + in_a_loop(ANEW))
    after = examine(path, Job((tmp_path,), Wanted(("GF303",)), repair=True)).after.decode()
    assert after == PREAMBLE + in_a_loop(ANEW.replace("generator(z)", "generator(z).detach()", 1))


@pytest.mark.parametrize(
    ("old", "new"),
    {
        "nobody clears what the critic's loss leaves": ("    generator_optimizer.zero_grad()\n", ""),
        "the generator is trained with it": (
            "    critic_optimizer.step()\n",
            "    critic_optimizer.step()\n    generator_optimizer.step()\n",
        ),
        "its gradients are read": (
            "    critic_optimizer.step()\n",
            "    critic_optimizer.step()\n    print(generator.weight.grad.norm())\n",
        ),
        "it is cut": ("criterion(critic(fake), zeros)", "criterion(critic(fake.detach()), zeros)"),
    }.values(),
)
def test_a_fake_whose_gradients_may_be_used(old: str, new: str) -> None:
    program = in_a_loop(ANEW)
    assert program.count(old) == 1
    assert "GF303" not in told(program.replace(old, new))


PENALTY = """
fake = generator(z)
mixed = 0.3 * real + 0.7 * fake
(slope,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
d_loss = critic(real).mean() + (slope.norm(2, 1) - 1).pow(2).mean()
critic_optimizer.zero_grad()
d_loss.backward()
critic_optimizer.step()

g_loss = -critic(generator(z)).mean()
generator_optimizer.zero_grad()
g_loss.backward()
generator_optimizer.step()
"""


def test_a_penalty_on_gradients_keeps_its_way() -> None:
    assert "GF303" not in told(in_a_loop(PENALTY))


SENT = """
trunk.zero_grad()
critic_optimizer.zero_grad()
feature = trunk(x)
first = critic(feature).mean()
second = critic(feature).pow(2).mean()
first.backward(retain_graph=True)
second.backward()
"""
TRAINED_ELSEWHERE = {
    "gradients are collected": SENT + "sent = [p.grad.clone() for p in trunk.parameters()]\ncritic_optimizer.step()\n",
    "another file sends them": "from server import push\n" + SENT + "push(trunk)\ncritic_optimizer.step()\n",
    "a worker of an old and a new network": """
def serve(shared, pipe, data):
    local, old = nn.Linear(4, 1), nn.Linear(4, 1)
    states = []
    for x, y in data:
        states.append(local(x))
    while True:
        local.load_state_dict(shared.state_dict())
        local.zero_grad()
        values = torch.cat(states, 0)
        fresh = local(values.detach()) + old(values.detach())
        ((fresh - values) ** 2).mean().backward(retain_graph=True)
        pipe.send([p.grad for p in local.parameters()])
""",
    "a ratio of two networks": """
sent, kept = [], []
for i in range(3):
    kept.append((x, model(x)))
for k in range(10):
    model.zero_grad()
    x, target = kept[k % 3]
    loss = ((model(x) / trunk(x) - target) ** 2).mean()
    loss.backward(retain_graph=True)
    sent.append([p.grad.clone() for p in model.parameters()])
""",
}
SERVER = """
import torch.distributed as dist

def push(net):
    for p in net.parameters():
        dist.send(p.grad, 0)
"""


@pytest.mark.parametrize("program", TRAINED_ELSEWHERE.values(), ids=TRAINED_ELSEWHERE)
def test_a_network_whose_gradients_somebody_else_takes_is_trained(tmp_path: Path, program: str) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    path = tmp_path / "worker.py"
    head = PREAMBLE.replace("[*model.parameters(), *trunk.parameters(), *rnn.parameters(), logits]", "[logits]")
    path.write_text(head + program)
    outcome = examine(path, Job((tmp_path,), Wanted(("GF303",))))
    assert not outcome.findings
