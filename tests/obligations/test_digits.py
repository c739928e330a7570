"""A total is a number of 64 bits only where nobody goes by its last digits: as a key, in a digest, in a comparison of texts."""

from __future__ import annotations

import pytest

from tests.obligations.programs import SETUP, safe_titles

TOTAL = (
    SETUP
    + """
import hashlib, json, random, uuid, zlib
from collections import Counter
total, lines, seen, report, digest = 0.0, [], {{}}, "", hashlib.sha256()

def line_of(value, width=9):
    return "{{:.6f}}".format(value).rjust(width)

for step in range(4):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    total += loss
{after}
"""
)
GONE_BY = {
    "a digest": "digest.update(f'loss {total:.6f}'.encode())\nprint(digest.hexdigest())",
    "a digest of lines": "lines.append(f'{total:.6f}')\nprint(hashlib.md5('\\n'.join(lines).encode()).hexdigest())",
    "a digest of a report": "report += '%.6f' % (total / 4) + '\\n'\nprint(hashlib.sha1(report.encode()).hexdigest())",
    "a digest of what is dumped": "print(hashlib.md5(json.dumps({'loss': f'{total / 4:.6f}'}).encode()).hexdigest())",
    "a checksum of what a function makes": "print(zlib.crc32(line_of(total).encode('ascii')))",
    "a name made of it": "print(uuid.uuid5(uuid.NAMESPACE_DNS, 'run-%.6f' % total))",
    "a seed": "random.seed('%.6f' % (total / 4))\nprint(random.random())",
    "a key": "seen['%.4f' % total] = 1\nprint(len(seen))",
    "a key that is looked for": "seen.setdefault(f'{total:.4f}', []).append(1)\nprint(seen)",
    "an item of a set": "found = set()\nfound.add(f'{total:.4f}')\nprint(len(found))",
    "a set of all": "lines.append(f'{total:.4f}')\nprint(len(set(lines)))",
    "counted": "print(Counter([f'{total:.4f}']).most_common(1)[0][1])",
    "the name of a file": "torch.save(net.state_dict(), f'best-{total / 4:.8f}.pt')",
    "the name of a file that is opened": "with open('run_%.7f.txt' % total, 'w') as file:\n    file.write('done')",
    "the name of a folder": "import os\nos.makedirs(os.path.join('runs', line_of(total / 4)), exist_ok=True)",
    "a path": "import pathlib\npathlib.Path('runs').joinpath(f'{total:.6f}').mkdir()",
    "a path by an operator": "import pathlib\n(pathlib.Path('runs') / f'{total:.6f}').mkdir()",
    "a copy under another name": "import shutil\nname = f'model-{total:.6f}'\nshutil.copy('last.pt', name + '.pt')",
    "compared": "if f'{total:.4f}' in lines:\n    print('again')",
}
SHOWN = {
    "printed": "print(f'{total:.6f}')",
    "a line": "print('total ' + line_of(total).upper() + '!')",
    "lines": "lines.append(line_of(total))\nprint('\\n'.join(lines), len(lines))",
    "a report": "report += line_of(total)\nprint(report)",
    "a file": "open('log.txt', 'wb').write(line_of(total).encode())",
    "a file of a name that is known": "import pathlib\npathlib.Path('log.txt').write_text(line_of(total))",
    "saved beside the network": "torch.save({'net': net.state_dict(), 'total': line_of(total)}, 'last.pt')",
    "under another key": "seen['loss'] = line_of(total)\nprint(json.dumps(seen))",
}


@pytest.mark.parametrize("case", GONE_BY)
def test_a_text_that_the_program_goes_by_keeps_its_digits(case: str) -> None:
    assert safe_titles(TOTAL.format(after=GONE_BY[case])) == [("GF101", "store `loss.detach()`")]


@pytest.mark.parametrize("case", SHOWN)
def test_a_text_that_is_shown_may_be_that_of_a_number(case: str) -> None:
    assert safe_titles(TOTAL.format(after=SHOWN[case])) == [("GF101", "store `loss.item()`")]
