"""The variables that httpx reads by itself: used, or named in one clear error."""

from __future__ import annotations

import ssl
from pathlib import Path

import certifi
import pytest

from resolver.errors import UsageError
from resolver.index.certificate import load_certificates, trusted_by_default
from resolver.index.fetch_failure import Bounds
from resolver.index.network import check_variables, open_client

PROXY = "write http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT"
PEM = "name a file of certificates in PEM form, or unset SSL_CERT_FILE"


@pytest.mark.parametrize(
    ("environ", "message", "hint"),
    [
        (
            {"HTTPS_PROXY": "foo://bar"},
            "HTTPS_PROXY=foo://bar is not a proxy that can be used",
            PROXY,
        ),
        (
            {"all_proxy": "foo://me:secret@bar:1"},
            "all_proxy=foo://****@bar:1 is not a proxy that can be used",
            PROXY,
        ),
        (
            {"http_proxy": "http://"},
            "http_proxy=http:// is not a proxy that can be used",
            PROXY,
        ),
        (
            {"HTTP_PROXY": "me:secret@bar:port"},
            "HTTP_PROXY=(an unreadable address) is not a proxy that can be used",
            PROXY,
        ),
        (
            {"SSL_CERT_FILE": "/nonexist"},
            "SSL_CERT_FILE=/nonexist cannot be read: no such file or directory",
            PEM,
        ),
        ({"SSL_CERT_FILE": "/dev/null"}, "SSL_CERT_FILE=/dev/null holds no certificate", PEM),
    ],
)
def test_what_cannot_be_used(environ: dict[str, str], message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_variables(environ)
    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize(
    "environ",
    [
        {"ALL_PROXY": "socks5://me:secret@127.0.0.1:1080", "HTTPS_PROXY": "127.0.0.1:3128"},
        {"HTTPS_PROXY": "foo://bar", "NO_PROXY": "*"},
        {"HTTPS_PROXY": ""},
        {"SSL_CERT_FILE": certifi.where()},
    ],
)
def test_what_can_be_used(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    open_client(version="0", bounds=Bounds(), ca_file=None, transport=None, environ=environ).close()


def test_certificates_of_pip_come_before_the_variable() -> None:
    check_variables({"SSL_CERT_FILE": "/nonexist"}, certificates=False)


def test_an_error_left_by_another_connection_is_not_the_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[str] = []
    made = ssl.create_default_context

    def once_wrong(*, cafile: str) -> ssl.SSLContext:
        calls.append(cafile)
        if len(calls) == 1:
            raise ssl.SSLError("left in the queue")
        return made(cafile=cafile)

    monkeypatch.setattr(ssl, "create_default_context", once_wrong)
    context = check_variables({"SSL_CERT_FILE": certifi.where()})
    assert isinstance(context, ssl.SSLContext)
    assert len(calls) == 2


def test_one_context_serves_all_clients_and_a_directory_has_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert trusted_by_default(None) is trusted_by_default(None)
    directory = "/etc/ssl/certs"
    assert trusted_by_default(directory) is not trusted_by_default(None)
    seen: list[object] = []
    monkeypatch.setattr("httpx.Client", lambda **options: seen.append(options["verify"]))
    for environ in ({}, {"SSL_CERT_DIR": directory}, {"SSL_CERT_DIR": ""}):
        open_client(version="0", bounds=Bounds(), ca_file=None, transport=None, environ=environ)
    default = trusted_by_default(None)
    assert seen == [default, trusted_by_default(directory), default]


def test_certificates_of_pip_are_tried_twice_too(monkeypatch: pytest.MonkeyPatch) -> None:
    made = ssl.create_default_context
    failures = [ssl.SSLError("left in the queue")]

    def once_wrong(*, cafile: Path) -> ssl.SSLContext:
        if failures:
            raise failures.pop()
        return made(cafile=cafile)

    monkeypatch.setattr(ssl, "create_default_context", once_wrong)
    assert isinstance(load_certificates(Path(certifi.where())), ssl.SSLContext)
