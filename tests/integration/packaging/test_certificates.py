"""`make install` from an index that a company's own authority has signed, which the machine trusts.

A real index of two packages, behind TLS, and the real set-up script: uv itself and one package of a
lock come from there. The store is the machine's, with one authority more, in a mount namespace.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import http.server
import os
import shutil
import ssl
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

ROOT = Path(__file__).resolve().parents[3]
STORE = Path("/etc/ssl/certs/ca-certificates.crt")
OURS = ("HOME", "PATH", "LANG")

pytestmark = [
    pytest.mark.needs("mount namespaces"),
    pytest.mark.skipif(not STORE.exists(), reason="the machine's store is elsewhere"),
]


def certificate(name: str, signed_by: tuple | None = None) -> tuple:
    """(certificate, key) of an authority, or of a server at localhost that one has signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    issuer, issuer_key = signed_by or (None, key)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.DNSName("localhost")
    signed = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(issuer_key, hashes.SHA256())
    )
    return signed, key


def pem(signed: x509.Certificate) -> bytes:
    return signed.public_bytes(serialization.Encoding.PEM)


def wheel_of(name: str, site: Path, directory: Path) -> str:
    """The installed package packed again; its line in a lock."""
    (package,) = distributions(name=name, path=[str(site)])
    stem = f"{name}-{package.version}"
    wheel = directory / f"{stem}-{tag_of(package)}.whl"
    record = []
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in package.files or ():
            content = Path(str(file.locate())).read_bytes()
            place = str(file)
            if place.endswith(("/RECORD", "/INSTALLER", "/REQUESTED", ".pyc")):
                continue
            if place.startswith("../"):  # a program
                place = f"{stem}.data/scripts/{file.name}"
            info = zipfile.ZipInfo(place)
            info.external_attr = 0o100755 << 16
            archive.writestr(info, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            record.append(f"{place},sha256={digest.decode()},{len(content)}")
        record.append(f"{stem}.dist-info/RECORD,,")
        archive.writestr(f"{stem}.dist-info/RECORD", "\n".join([*record, ""]))
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return f"{name}=={package.version} --hash=sha256:{digest}\n"


def tag_of(package: Distribution) -> str:
    lines = (package.read_text("WHEEL") or "").splitlines()
    return next(line.partition(": ")[2] for line in lines if line.startswith("Tag: "))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """With a lock of one package, and wheels of it and of uv beside it."""
    checkout, wheels = tmp_path / "checkout", tmp_path / "wheels"
    shutil.copytree(ROOT / "lock", checkout / "lock")
    (checkout / "src" / "yt8m").mkdir(parents=True)
    (checkout / "src" / "yt8m" / "__init__.py").touch()
    for name in ("setup.py", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, checkout)
    wheels.mkdir()
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    uv_site = next((ROOT / ".venv" / "uv" / "lib").glob("python3*")) / "site-packages"
    site = ROOT / ".venv" / "lib" / version / "site-packages"
    (checkout / "lock" / "uv.txt").write_text(wheel_of("uv", uv_site, wheels))
    line = wheel_of("setuptools", site, wheels)
    for lock in (checkout / "lock").glob("tfx-*-py*.txt"):
        lock.write_text(line)
    return checkout


@pytest.fixture
def authority() -> tuple:
    return certificate("a company's own authority")


@pytest.fixture
def index(tmp_path: Path, checkout: Path, authority: tuple) -> Iterator[str]:
    """The address of the index."""
    root, wheels = tmp_path / "index", tmp_path / "wheels"
    for wheel in wheels.iterdir():
        page = root / "simple" / wheel.name.partition("-")[0]
        page.mkdir(parents=True)
        (page / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>')
        wheel.rename(page / wheel.name)

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: object, **words: object) -> None:
            super().__init__(*args, directory=str(root), **words)  # type: ignore[arg-type]

        def log_message(self, *_: object) -> None:
            pass

    signed, key = certificate("localhost", authority)
    chain = tmp_path / "server.pem"
    unprotected = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    chain.write_bytes(
        pem(signed) + key.private_bytes(serialization.Encoding.PEM, form, unprotected)
    )
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"https://localhost:{server.server_port}/simple"
    server.shutdown()
    server.server_close()


def install(checkout: Path, index: str, store: Path) -> subprocess.CompletedProcess[str]:
    """On a machine whose store of certificates is `store`."""
    environ = {name: os.environ[name] for name in OURS if name in os.environ}
    command = f'mount --bind "{store}" {STORE} && exec bash "{checkout}/lock/install.sh"'
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", command],
        env={
            **environ,
            "PYTHON": sys.executable,
            "PIP_INDEX_URL": index,
            "UV_DEFAULT_INDEX": index,
            "UV_CACHE_DIR": str(checkout.parent / "cache"),
            "PIP_NO_CACHE_DIR": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_authority_that_the_machine_trusts_is_trusted(
    checkout: Path, index: str, authority: tuple, tmp_path: Path
) -> None:
    store = tmp_path / "store.crt"
    store.write_bytes(STORE.read_bytes() + pem(authority[0]))
    done = install(checkout, index, store)
    assert done.returncode == 0, done.stderr
    assert (checkout / ".venv" / ".installed").exists()


def test_any_other_is_not(checkout: Path, index: str, tmp_path: Path) -> None:
    store = tmp_path / "store.crt"
    store.write_bytes(STORE.read_bytes())
    done = install(checkout, index, store)
    assert done.returncode != 0
    assert "certificate" in done.stderr.lower()
    assert not (checkout / ".venv" / ".installed").exists()
