"""The tests on every Python that abilock supports and this machine has: ``pipx run nox``."""

from __future__ import annotations

import nox

PYTHONS = ("3.11", "3.12", "3.13", "3.14")

nox.options.default_venv_backend = "uv|virtualenv"
nox.options.error_on_missing_interpreters = False


@nox.session(python=PYTHONS)
def package(session: nox.Session) -> None:
    """The built wheel alone, with the source out of reach."""
    session.install(".")
    session.chdir(session.create_tmp())
    session.run("abilock", "knowledge", "verify")
    session.run("abilock", "resolve", "--cuda=13.0", "--arch=sm120", "--offline", "--output=-")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """All that needs no network; arguments after ``--`` go to pytest."""
    session.install("--editable", ".", "--group", "dev")
    session.run("pytest", "-n", "auto", "--dist", "worksteal", *session.posargs)
