"""Where code lies that the user did not write."""

from __future__ import annotations

import os
import sys

import pytest

from graphfix.verify.probe.places import installed


@pytest.mark.parametrize("folder", ["/home/me/.local/lib/python3.11/site-packages", "/usr/lib/python3/dist-packages"])
def test_what_is_installed_for_one_user_or_by_the_system_is_not_the_users(monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    monkeypatch.setattr(sys, "path", ["", "/home/me/project", folder])
    assert folder in installed() and os.path.dirname(os.__file__) in installed()
    assert "/home/me/project" not in installed() and "" not in installed()
