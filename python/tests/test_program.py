"""The command that pip installs beside the package, and the data that both find."""

from __future__ import annotations

import json
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

import gradweave

PROGRAM = Path(sysconfig.get_path("scripts")) / "gradweave"
MODELS = Path(sysconfig.get_path("data")) / "share" / "gradweave" / "models"


@pytest.fixture
def only_here():
    """A model that is installed, and that the source tree has not."""
    path = MODELS / "only-here.json"
    shutil.copy(MODELS / "resnet50.json", path)
    yield path.stem
    path.unlink()


def _says(*arguments: str) -> str:
    return subprocess.run(
        [PROGRAM, *arguments], cwd="/", capture_output=True, text=True, check=True
    ).stdout


def test_program_and_package_find_the_installed_data(only_here):
    assert only_here in _says("list", "models")
    asked = ("--cluster", "p102-1gbe-16", "--algo", "omgs", "--json")
    simulated = json.loads(_says("simulate", only_here, *asked))
    planned = gradweave.plan(only_here, "p102-1gbe-16", algorithm="omgs")
    assert planned.iteration_s == pytest.approx(simulated["iteration_s"], rel=1e-9)


def test_program_is_the_packages_version():
    assert _says("--version").split()[1] == gradweave.version()
