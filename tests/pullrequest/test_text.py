"""What the text of a pull request is made of."""

from __future__ import annotations

import dataclasses

import pytest

from graphfix.codemods import RULES
from graphfix.model import Applicability, Finding, Fix, Span
from graphfix.pullrequest.forge import Forge, forge_of
from graphfix.pullrequest.markdown import cell, code, fence, prose
from graphfix.pullrequest.parts import by_key, folder_of
from graphfix.pullrequest.text import BEGIN, END, MAX_LENGTH, Change, Place, Story, body, hunks, renewed
from graphfix.rewrite.origin import original_row
from graphfix.rewrite.patch import unified


@pytest.mark.parametrize(
    ("url", "forge"),
    [
        ("https://github.com/acme/trainer.git", Forge("github", "github.com", "acme/trainer")),
        ("https://user:token@github.com/acme/trainer", Forge("github", "github.com", "acme/trainer")),
        ("git@github.com:acme/trainer.git", Forge("github", "github.com", "acme/trainer")),
        ("ssh://git@gitlab.acme.org:2222/a/b/trainer.git", Forge("gitlab", "gitlab.acme.org", "a/b/trainer")),
        ("https://gitlab.acme.org:8443/a/trainer/", Forge("gitlab", "gitlab.acme.org:8443", "a/trainer")),
        ("https://code.acme.org/a/trainer", None),
        ("/srv/github/trainer.git", None),
        ("../github.com/trainer.git", None),
        ("file:///srv/github.com/a/trainer.git", None),
        ("ext::github.com/acme/trainer", None),
        ("https://github.com/", None),
        ("https://github.com:port/acme/trainer", None),
    ],
)
def test_the_forge_behind_an_address(url: str, forge: Forge | None) -> None:
    assert forge_of(url) == forge


def test_a_host_that_does_not_say_what_it_runs_can_be_told() -> None:
    assert forge_of("https://code.acme.org/a/trainer", "gitlab") == Forge("gitlab", "code.acme.org", "a/trainer")
    assert forge_of("/srv/a/trainer.git", "gitlab") is None


def test_links_are_quoted() -> None:
    link = Forge("github", "github.com", "acme/trainer").link("abc", "a b/#1?.py", 3)
    assert link == "https://github.com/acme/trainer/blob/abc/a%20b/%231%3F.py#L3"


def test_nothing_gets_out_of_a_code_span_or_block() -> None:
    assert code("a`b") == "``a`b``" and code("`") == "`` ` ``" and code("a\nb\x1b") == "`a\\x0ab\\x1b`"
    assert fence("diff", "+```\n+@all\u202e") == "````diff\n+```\n+@all\\u202e\n````"
    assert cell("a|b") == "a\\|b"


def test_prose_means_itself_but_for_code_spans() -> None:
    assert prose("`a_b` calls _all_ of no_grad, <b> and [x](y)") == "`a_b` calls \\_all\\_ of no_grad, \\<b\\> and \\[x\\](y)"


def test_hunks_stand_under_their_lines() -> None:
    old = "".join(f"{number}\n" for number in range(1, 41))
    new = old.replace("20\n", "twenty\n").replace("40\n", "40\nforty-one\n")
    patch = unified("a folder/x.py", old.encode(), new.encode())
    assert hunks(patch) == ["@@ a folder/x.py:20 @@\n 19\n-20\n+twenty\n 21", "@@ a folder/x.py:41 @@\n 40\n+forty-one"]


def test_a_long_hunk_is_cut() -> None:
    patch = unified("x.py", b"".join(b"%d\n" % number for number in range(40)), b"")
    assert len(hunks(patch)[0].split("\n")) == 16 and hunks(patch)[0].endswith("\n...")


def test_only_the_part_between_the_marks_is_written_anew() -> None:
    assert renewed(f"a\n{BEGIN}\nold\n{END}\nb", f"{BEGIN}\nnew\n{END}\n") == f"a\n{BEGIN}\nnew\n{END}\nb"
    assert renewed("a", f"{BEGIN}\nnew\n{END}\n") is None
    assert renewed(f"{END}{BEGIN}", "new") is None


@pytest.mark.parametrize(("after", "row", "was"), [("a\nb\nc", 2, 2), ("x\na\nb\nc", 3, 2), ("a\nx\nc", 2, 2), ("b\nc", 2, 3)])
def test_the_line_that_a_line_was(after: str, row: int, was: int) -> None:
    assert original_row("a\nb\nc", after, row) == was


def test_a_file_at_the_top_has_a_folder_to_be_sorted_by() -> None:
    assert [folder_of(name) for name in ("a.py", "a/b/c.py")] == ["top", "a"]
    assert by_key([], lambda outcome: "") == []


def story_of(count: int) -> Story:
    fix = Fix(Applicability.SAFE, "store `loss.item()`", ())
    finding = Finding("GF101", "accumulated-graph", "`total` keeps graphs", "x.py", Span(0, 1), fix=fix)
    places = tuple(Place(f"a/long/name/of/a/folder/module_{number}.py", number, None, finding) for number in range(count))
    patch = unified("x.py", b"1\n" * 30, b"1\n" * 15 + b"2\n" * 15)
    changes = tuple(Change(rule, places, (patch,) * count) for rule in RULES)
    return Story(changes, places, "abc", "main", ("graphfix apply .",), Forge("github", "github.com", "acme/trainer"))


def test_a_long_text_stays_below_what_a_forge_takes() -> None:
    assert len(body(story_of(1))) < MAX_LENGTH
    text = body(story_of(300))
    assert len(text) < MAX_LENGTH and text.rstrip().endswith(END)
    assert "and 297 more" in text and "300 places more in the commit" in text


def test_how_to_install_names_the_repository_or_what_the_setting_says() -> None:
    told = story_of(1)
    assert 'pip install "graphfix @ git+https://github.com/graphfix/graphfix"\n' in body(told)
    assert "\npip install --index-url https://in.house graphfix\n" in body(
        dataclasses.replace(told, install="pip install --index-url https://in.house graphfix")
    )
