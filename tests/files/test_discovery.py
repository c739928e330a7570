from __future__ import annotations

import os
from pathlib import Path

import pytest

from graphfix.files.discovery import JUNK, MissingPath, discover, is_passed_over, walk


def plant(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def found(*paths: Path, root: Path) -> list[str]:
    return [path.relative_to(root).as_posix() for path in discover(paths).files]


def test_folders_are_walked_in_order_and_junk_is_left_out(tmp_path: Path) -> None:
    plant(tmp_path, "b.py", "a/z.py", "a/b/c.py", "a.txt", "notes.ipynb", *(f"{junk}/x.py" for junk in JUNK))
    plant(tmp_path, "env/pyvenv.cfg", "env/lib/x.py", ".ipynb_checkpoints/notes.ipynb")
    assert found(tmp_path, root=tmp_path) == ["a/b/c.py", "a/z.py", "b.py", "notes.ipynb"]


def test_a_named_folder_is_walked_even_if_it_is_junk(tmp_path: Path) -> None:
    plant(tmp_path, "build/x.py")
    assert found(tmp_path / "build", root=tmp_path) == ["build/x.py"]


def test_a_file_is_met_once(tmp_path: Path) -> None:
    plant(tmp_path, "a/x.py")
    (tmp_path / "link").symlink_to("a")
    paths = (tmp_path / "a", tmp_path / "a/x.py", tmp_path, tmp_path / "link")
    assert found(*paths, root=tmp_path) == ["a/x.py"]


def test_a_gitignore_pattern_that_means_nothing_is_passed_over(tmp_path: Path) -> None:
    plant(tmp_path, ".git/HEAD", "x.py", "gen.py")
    (tmp_path / ".gitignore").write_text("[z-a]\n!\ngen.py\n")
    assert found(tmp_path, root=tmp_path) == ["x.py"]


def test_what_is_excluded_is_not_walked(tmp_path: Path) -> None:
    plant(tmp_path, "a.py", "sub/b.py", "sub/deep/c.py", "d.py")
    asked: list[str] = []

    def excludes(path: Path, is_folder: bool) -> bool:
        asked.append(path.name)
        return path.name in ("sub", "d.py")

    def names(*paths: Path, force: bool = False) -> list[str]:
        return [path.relative_to(tmp_path).as_posix() for path in discover(paths, excludes, force=force).files]

    assert names(tmp_path) == ["a.py"]
    assert "deep" not in asked
    assert names(tmp_path / "d.py", tmp_path / "sub") == ["d.py", "sub/b.py", "sub/deep/c.py"]
    assert names(tmp_path / "d.py", tmp_path / "sub", tmp_path / "a.py", force=True) == ["a.py"]


def test_nested_gitignore_files_are_respected(tmp_path: Path) -> None:
    plant(tmp_path, ".git/HEAD", "x.py", "gen_a.py", "sub/gen_b.py", "sub/keep/gen_c.py", "out/x.py", "sub/out.py")
    (tmp_path / ".gitignore").write_text("gen_*.py\n/out/\n")
    (tmp_path / "sub/keep/.gitignore").write_text("!gen_c.py\n")
    assert found(tmp_path, root=tmp_path) == ["sub/keep/gen_c.py", "sub/out.py", "x.py"]
    assert found(tmp_path / "sub", root=tmp_path) == ["sub/keep/gen_c.py", "sub/out.py"]
    assert found(tmp_path / "gen_a.py", root=tmp_path) == ["gen_a.py"]


def test_a_gitignore_outside_of_the_work_tree_means_nothing(tmp_path: Path) -> None:
    plant(tmp_path, "repo/.git/HEAD", "repo/x.py")
    (tmp_path / ".gitignore").write_text("*.py\n")
    assert found(tmp_path / "repo", root=tmp_path) == ["repo/x.py"]


def test_links_and_loops_in_folders_are_not_followed(tmp_path: Path) -> None:
    plant(tmp_path, "root/x.py", "outside/y.py")
    (tmp_path / "root/loop").symlink_to(".")
    (tmp_path / "root/up").symlink_to("..")
    (tmp_path / "root/out").symlink_to(tmp_path / "outside")
    (tmp_path / "root/y.py").symlink_to(tmp_path / "outside/y.py")
    (tmp_path / "root/dead.py").symlink_to("nowhere")
    assert found(tmp_path / "root", root=tmp_path) == ["root/x.py"]


def test_a_named_link_is_read_only_if_it_stays_inside(tmp_path: Path) -> None:
    plant(tmp_path, "root/x.py", "outside/y.py")
    (tmp_path / "root/in.py").symlink_to("x.py")
    (tmp_path / "root/out.py").symlink_to(tmp_path / "outside/y.py")
    assert found(tmp_path / "root/in.py", root=tmp_path) == ["root/in.py"]
    outcome = discover([tmp_path / "root/out.py"])
    assert outcome.files == ()
    assert outcome.skipped == ((tmp_path / "root/out.py", "a link that leads outside of the given paths"),)


def test_a_missing_path_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MissingPath, match="no such file or folder"):
        discover([tmp_path / "nowhere"])


def test_odd_names_and_deep_folders_are_met(tmp_path: Path) -> None:
    plant(tmp_path, "a b.py", "é.py")
    deep = tmp_path.joinpath(*["d"] * 200)
    plant(deep, "x.py")
    with open(os.fsencode(tmp_path) + b"/\xff.py", "w"):
        pass
    assert len(discover([tmp_path]).files) == 4


def test_a_pattern_with_many_stars_ends(tmp_path: Path) -> None:
    names = ["-" * 200 + f"{number}.py" for number in range(20)]
    plant(tmp_path, *names, ".git/config")
    (tmp_path / ".gitignore").write_text("*-*-*-*-*-*-*-*.tmp\n**/a*-*-*/**/b*-*-*-*-*-*-*-*\n")
    assert found(tmp_path, root=tmp_path) == sorted(names)


def test_patterns_that_mean_nothing_are_passed_over(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    plant(tmp_path, "a.py", "b.py")
    (tmp_path / ".gitignore").write_text("[z-a]\n[[:alpha:]]\n\\\n" + "x" * 5_000 + "\nb.py\n")
    assert found(tmp_path, root=tmp_path) == ["a.py"]
    assert capfd.readouterr().err == ""


def test_more_patterns_than_fit_into_one_matcher_keep_their_order(tmp_path: Path) -> None:
    plant(tmp_path, "a.py", "b.py", "c.py")
    many = "".join(f"{'*-*' * 30}{number}\n" for number in range(500))
    (tmp_path / ".gitignore").write_text("*.py\n" + many + "!b.py\n" + many + "!c.py\n")
    assert found(tmp_path, root=tmp_path) == ["b.py", "c.py"]


def test_a_name_that_is_no_text_is_matched(tmp_path: Path) -> None:
    odd = os.fsdecode(b"\xe9.py")
    plant(tmp_path, odd, "a.py")
    assert found(tmp_path, root=tmp_path) == ["a.py", odd]
    (tmp_path / ".gitignore").write_bytes(b"\xe9.py\n")
    assert found(tmp_path, root=tmp_path) == ["a.py"]


def test_an_ignore_file_that_is_a_device_or_a_pipe_is_not_read(tmp_path: Path) -> None:
    plant(tmp_path, "endless/a.py", "waiting/a.py")
    (tmp_path / "endless/.gitignore").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "waiting/.gitignore")
    assert found(tmp_path, root=tmp_path) == ["endless/a.py", "waiting/a.py"]


def test_a_single_file_is_passed_over_where_a_walk_would_not_come_to_it(tmp_path: Path) -> None:
    plant(tmp_path, "a.py", "b/c.py", "b/build/x.py", "b/made/deep/y.py", "env/pyvenv.cfg", "env/x.py", "out/kept.py", "out/z.py")
    plant(tmp_path, "inner/.git/config", "inner/out/z.py")
    (tmp_path / ".gitignore").write_text("made/\n")
    (tmp_path / "out/.gitignore").write_text("*.py\n!kept.py\n")

    def excludes(path: Path, is_folder: bool) -> bool:
        return is_folder and path.name == "inner"

    met = set(walk(tmp_path, excludes))
    assert {path.relative_to(tmp_path).as_posix() for path in met} == {"a.py", "b/c.py", "out/kept.py"}
    for path in tmp_path.rglob("*.py"):
        assert is_passed_over(path, tmp_path, excludes) is (path not in met), path
