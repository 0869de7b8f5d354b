"""Signed versions: read by model-signing's own program, and refused after any change."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from docs_blocks import ROOT, blocks
from key_pairs import KeyPair
from registry_models import blessed_record, fake_model, push_fake

from yt8m.cli.main import run
from yt8m.components.artifacts.version_record import (
    CARD_FILE,
    RECORD_FILE,
    SIGNATURE_FILE,
    STATEMENT_FILE,
)
from yt8m.components.registry.config import RegistryConfig
from yt8m.components.registry.push import push, rollback
from yt8m.components.registry.signature import (
    Signer,
    Trust,
    UnsignedVersionError,
    check_keys,
    require_signed,
    signature_problems,
    signer_of,
)
from yt8m.components.registry.verify import verify_version
from yt8m.components.registry.versions import UnusableVersionError, load_version
from yt8m.schemas.errors import ConfigError, UserError

pytestmark = pytest.mark.needs("model_signing")

PASSWORD = "correct horse battery staple"
TAMPERINGS = 1000


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> KeyPair:
    return KeyPair(tmp_path_factory.mktemp("keys"), "ours")


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory, keys: KeyPair) -> Path:
    """A registry of two signed versions. Nobody changes it."""
    place = tmp_path_factory.mktemp("signed")
    digest = ""
    for number in (1, 2):
        model = fake_model(place / f"model-{number}", content=f"model {number}".encode())
        record = blessed_record(run_key=f"{number}", baseline=number - 1)
        record = dataclasses.replace(record, baseline_digest=digest)
        version = push(model, str(place / "push"), record, signer=keys.signer)
        digest = version.record.model_digest
    return place / "push"


def certified(pair: KeyPair, place: Path) -> tuple[Path, Path]:
    """The files of a certificate of `pair` with its issuer's, and of the issuer's alone."""
    issuer_key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.UTC)

    def certificate(name: str, public_key: ec.EllipticCurvePublicKey, *, is_issuer: bool) -> bytes:
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "issuer")])
        usage = dict.fromkeys(
            (
                "content_commitment",
                "key_encipherment",
                "data_encipherment",
                "key_agreement",
                "encipher_only",
                "decipher_only",
            ),
            False,
        )
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1 + is_issuer))
            .not_valid_after(now + datetime.timedelta(days=30))
            .add_extension(x509.BasicConstraints(ca=is_issuer, path_length=None), critical=True)
            .add_extension(
                x509.KeyUsage(
                    digital_signature=not is_issuer,
                    key_cert_sign=is_issuer,
                    crl_sign=is_issuer,
                    **usage,
                ),
                critical=True,
            )
        )
        return builder.sign(issuer_key, hashes.SHA256()).public_bytes(Encoding.PEM)

    root = certificate("issuer", issuer_key.public_key(), is_issuer=True)
    own = certificate("signer", pair.private_key.public_key(), is_issuer=False)
    chain, roots = place / "chain.pem", place / "roots.pem"
    chain.write_bytes(own + root)
    roots.write_bytes(root)
    return chain, roots


def foreign_program(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "model_signing", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_model_signings_own_program_accepts_a_version_and_no_changed_one(
    tmp_path: Path, signed: Path, keys: KeyPair
) -> None:
    version = tmp_path / "2"
    shutil.copytree(signed / "2", version)
    command = ("verify", "key", "--public_key", keys.public)

    accepted = foreign_program(*command, "--signature", version / SIGNATURE_FILE, version)
    assert accepted.returncode == 0, accepted.stderr
    (version / CARD_FILE).write_text("another card")
    refused = foreign_program(*command, "--signature", version / SIGNATURE_FILE, version)
    assert refused.returncode != 0
    assert CARD_FILE in refused.stdout + refused.stderr


@pytest.mark.needs("openssl")
def test_the_commands_of_the_page_make_a_key_that_signs(tmp_path: Path) -> None:
    (shell, *_) = (b for b in blocks(ROOT / "docs" / "registry.md") if "openssl" in b.text)
    for command in shell.commands():
        if command[0] == "openssl":
            subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    key, public = tmp_path / "models.key", tmp_path / "models.pub"
    model, record = fake_model(tmp_path / "model"), blessed_record(run_key="1", baseline=0)
    push(model, str(tmp_path / "push"), record, signer=Signer(key=str(key)))
    version = tmp_path / "push" / "1"
    command = ("verify", "key", "--public_key", public)
    accepted = foreign_program(*command, "--signature", version / SIGNATURE_FILE, version)
    assert accepted.returncode == 0, accepted.stderr


def test_a_certificate_of_a_trusted_issuer_signs_too(tmp_path: Path) -> None:
    pair = KeyPair(tmp_path, "certified")
    chain, roots = certified(pair, tmp_path)
    (tmp_path / "others").mkdir()
    _, other_roots = certified(pair, tmp_path / "others")
    signer = Signer(key=str(pair.secret), certificates=str(chain))
    version = push(
        fake_model(tmp_path / "model"), str(tmp_path / "push"), blessed_record(), signer=signer
    )

    again = push(str(tmp_path / "model"), str(tmp_path / "push"), blessed_record(), signer=signer)
    assert again.number == version.number
    assert not signature_problems(version.path, Trust(key=str(roots)))
    assert signature_problems(version.path, Trust(key=str(other_roots)))


def test_the_statement_is_in_toto_with_slsa_provenance(signed: Path) -> None:
    from google.protobuf import json_format
    from in_toto_attestation.predicates.provenance.v1.provenance_pb2 import Provenance
    from in_toto_attestation.v1.statement import Statement
    from in_toto_attestation.v1.statement_pb2 import Statement as StatementMessage

    text = (signed / "2" / STATEMENT_FILE).read_text()
    statement = Statement.copy_from_pb(json_format.Parse(text, StatementMessage()))
    statement.validate()
    provenance = json_format.ParseDict(json.loads(text)["predicate"], Provenance())
    record = load_version(str(signed), 2).record

    assert {s.name: s.digest["sha256"] for s in statement.pb.subject} == {
        name: file.sha256 for name, file in record.given_files.items()
    }
    data, parent = provenance.build_definition.resolved_dependencies
    assert data.digest["yt8mManifest"] == record.data.manifest_digest
    assert (parent.name, parent.uri) == ("baseline", "urn:yt8m:version:1")
    assert parent.digest["yt8mModel"] == load_version(str(signed), 1).record.model_digest
    assert provenance.build_definition.external_parameters["version"] == 2
    assert provenance.run_details.metadata.invocation_id == "2"
    assert [b.name for b in provenance.run_details.byproducts] == ["gate decision", "infra check"]


Tampering = Callable[[Path, random.Random], None]


def flip_a_bit(version: Path, draw: random.Random) -> None:
    file = draw.choice([f for f in files(version) if f.name != SIGNATURE_FILE])
    content = bytearray(file.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    file.write_bytes(content)


def cut(version: Path, draw: random.Random) -> None:
    file = draw.choice(files(version))
    content = file.read_bytes()
    file.write_bytes(content[: draw.randrange(len(content))])


def append(version: Path, draw: random.Random) -> None:
    file = draw.choice([f for f in files(version) if f.name != SIGNATURE_FILE])
    file.write_bytes(file.read_bytes() + draw.randbytes(draw.randint(1, 9)))


def remove(version: Path, draw: random.Random) -> None:
    draw.choice(files(version)).unlink()


def rename(version: Path, draw: random.Random) -> None:
    file = draw.choice(files(version))
    file.rename(file.with_name(f"{file.name}{draw.randrange(10)}"))


def exchange_names(version: Path, draw: random.Random) -> None:
    one, other = draw.sample(files(version), 2)
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)


def add(version: Path, draw: random.Random) -> None:
    place = draw.choice(["", "variables", "assets.extra", ".git", "assets"])
    (version / place).mkdir(exist_ok=True)
    (version / place / f"new-{draw.randrange(100)}").write_bytes(draw.randbytes(3))


def link_a_file(version: Path, draw: random.Random) -> None:
    """The same bytes, elsewhere: whoever owns that place may change them later."""
    file = draw.choice(files(version))
    elsewhere = version.parent / f"elsewhere-{draw.randrange(10**9)}"
    shutil.move(file, elsewhere)
    file.symlink_to(elsewhere)


def link_a_directory(version: Path, draw: random.Random) -> None:
    directory = version / draw.choice(["variables", "assets.extra"])
    elsewhere = version.parent / f"elsewhere-{draw.randrange(10**9)}"
    shutil.move(directory, elsewhere)
    directory.symlink_to(elsewhere)


def exchange_with_another_version(version: Path, draw: random.Random) -> None:
    """A file of the other signed version: its record, its statement, its signature..."""
    name = draw.choice([RECORD_FILE, STATEMENT_FILE, SIGNATURE_FILE, CARD_FILE, "saved_model.pb"])
    shutil.copyfile(version.parent / "1" / name, version / name)


def exchange_all_papers(version: Path, draw: random.Random) -> None:
    for name in (RECORD_FILE, STATEMENT_FILE, SIGNATURE_FILE, CARD_FILE)[draw.randrange(2) :]:
        shutil.copyfile(version.parent / "1" / name, version / name)


def become_another_version(version: Path, draw: random.Random) -> None:
    """Everything of version 1, under this number."""
    shutil.rmtree(version)
    shutil.copytree(version.parent / "1", version)


def write_another_record(version: Path, draw: random.Random) -> None:
    """A sound record, with a checksum of its own, that says something better."""
    from yt8m.components.artifacts.version_record import parse_record

    record = parse_record((version / RECORD_FILE).read_text())
    changes: list[dict[str, Any]] = [
        {"reason": f"better {draw.random()}"},
        {"run_key": f"{draw.random()}"},
        {"blessed": False},
    ]
    change = draw.choice(changes)
    (version / RECORD_FILE).write_text(dataclasses.replace(record, **change).to_json())


def forge_the_signed_content(version: Path, draw: random.Random) -> None:
    """A payload that fits changed bytes, under the old signature's bytes."""
    import hashlib

    file = version / SIGNATURE_FILE
    bundle = json.loads(file.read_text())
    payload = json.loads(base64.b64decode(bundle["dsseEnvelope"]["payload"]))
    (version / CARD_FILE).write_text(f"a better card {draw.random()}")
    for resource in payload["predicate"]["resources"]:
        if resource["name"] == CARD_FILE:
            content = (version / CARD_FILE).read_bytes()
            resource["digest"] = hashlib.sha256(content).hexdigest()
    digests = [bytes.fromhex(r["digest"]) for r in payload["predicate"]["resources"]]
    payload["subject"][0]["digest"]["sha256"] = hashlib.sha256(b"".join(digests)).hexdigest()
    bundle["dsseEnvelope"]["payload"] = base64.b64encode(json.dumps(payload).encode()).decode()
    file.write_text(json.dumps(bundle))


def flip_a_bit_of_the_signature(version: Path, draw: random.Random) -> None:
    file = version / SIGNATURE_FILE
    bundle = json.loads(file.read_text())
    (signature,) = bundle["dsseEnvelope"]["signatures"]
    content = bytearray(base64.b64decode(signature["sig"]))
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    signature["sig"] = base64.b64encode(content).decode()
    file.write_text(json.dumps(bundle))


def sign_with_another_key(version: Path, draw: random.Random) -> None:
    KeyPair(version.parent, f"other-{draw.randrange(10**9)}").sign(version)


TAMPERINGS_BY_NAME: dict[str, Tampering] = {
    tampering.__name__: tampering
    for tampering in (
        flip_a_bit,
        cut,
        append,
        remove,
        rename,
        exchange_names,
        add,
        link_a_file,
        link_a_directory,
        exchange_with_another_version,
        exchange_all_papers,
        become_another_version,
        write_another_record,
        forge_the_signed_content,
        flip_a_bit_of_the_signature,
        sign_with_another_key,
    )
}


def files(version: Path) -> list[Path]:
    return sorted(file for file in version.rglob("*") if file.is_file())


@pytest.mark.parametrize("name", TAMPERINGS_BY_NAME)
def test_no_change_of_a_signed_version_is_accepted(
    name: str, signed: Path, keys: KeyPair, tmp_path: Path
) -> None:
    per_kind = -(-TAMPERINGS // len(TAMPERINGS_BY_NAME))
    registry = shutil.copytree(signed, tmp_path / "push")
    assert not verify_version(str(registry), 2, keys.trust).problems
    for seed in range(per_kind):
        TAMPERINGS_BY_NAME[name](registry / "2", random.Random(f"{name} {seed}"))
        assert verify_version(str(registry), 2, keys.trust).problems, f"{name}, seed {seed}"
        with pytest.raises(UnusableVersionError):  # as a baseline and a rollback ask
            require_signed(load_version(str(registry), 2, verify=True), keys.trust)
        shutil.rmtree(registry / "2")
        shutil.copytree(signed / "2", registry / "2")
    assert not verify_version(str(registry), 2, keys.trust).problems


def test_a_version_without_a_signature_is_refused_where_one_is_demanded(
    tmp_path: Path, keys: KeyPair
) -> None:
    registry = tmp_path / "push"
    version = push_fake(tmp_path, registry)

    assert not (Path(version.path) / STATEMENT_FILE).exists()
    require_signed(version, None)
    with pytest.raises(UnsignedVersionError, match="no signature"):
        require_signed(version, keys.trust)
    with pytest.raises(UnsignedVersionError, match="no signature"):
        rollback(str(registry), 1, trust=keys.trust)
    assert verify_version(str(registry), 1).problems == ()
    assert "no signature" in verify_version(str(registry), 1, keys.trust).problems[0]


def test_a_rollback_to_the_newest_version_signs_it_and_one_to_a_signed_one_signs_anew(
    tmp_path: Path, keys: KeyPair
) -> None:
    registry = str(tmp_path / "push")
    push_fake(tmp_path, tmp_path / "push")
    first = rollback(registry, 1, signer=keys.signer)
    push_fake(tmp_path, tmp_path / "push")
    again = rollback(registry, first.number, signer=keys.signer, trust=keys.trust)

    assert (first.number, again.number) == (2, 4)
    assert [verify_version(registry, n, keys.trust).signed for n in (1, 2, 3, 4)] == [
        False,
        True,
        False,
        True,
    ]
    assert again.record.model_digest == first.record.model_digest
    assert rollback(registry, 4, signer=keys.signer).number == 4  # signed already
    (Path(again.path) / SIGNATURE_FILE).unlink()
    assert rollback(registry, 4, signer=keys.signer).number == 5


def test_a_version_that_another_key_has_signed_is_none_of_ours(
    tmp_path: Path, keys: KeyPair
) -> None:
    registry, other = str(tmp_path / "push"), KeyPair(tmp_path, "other", password=PASSWORD)
    model = fake_model(tmp_path / "model")
    first = push(model, registry, blessed_record(), signer=other.signer)

    with pytest.raises(UnsignedVersionError, match=r"not valid.*rollback 1 --push .*/push --sign"):
        rollback(registry, 1, signer=keys.signer, trust=keys.trust)
    assert push(model, registry, blessed_record(), signer=other.signer).number == first.number
    again = push(model, registry, blessed_record(), signer=keys.signer)
    assert again.number == 2
    assert push(model, registry, blessed_record(), signer=keys.signer).number == 2
    assert [verify_version(registry, n, keys.trust).signed for n in (1, 2)] == [False, True]
    assert [verify_version(registry, n, other.trust).signed for n in (1, 2)] == [True, False]


def test_a_signed_version_that_is_imported_elsewhere_loses_its_papers(
    tmp_path: Path, signed: Path, keys: KeyPair
) -> None:
    for signer in (None, KeyPair(tmp_path, "theirs").signer):
        registry = str(tmp_path / f"push-{signer is None}")
        version = push(str(signed / "2"), registry, blessed_record(), signer=signer)
        there = {
            name for name in (STATEMENT_FILE, SIGNATURE_FILE) if Path(version.path, name).exists()
        }

        assert there == ({STATEMENT_FILE, SIGNATURE_FILE} if signer else set())
        assert "version 1" in Path(version.path, CARD_FILE).read_text()
        assert verify_version(registry, 1).problems == ()
        assert verify_version(registry, 1, keys.trust).problems


def test_another_key_and_another_password_are_named_before_a_run(
    tmp_path: Path, keys: KeyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked, other = KeyPair(tmp_path, "locked", password=PASSWORD), KeyPair(tmp_path, "other")
    monkeypatch.delenv("YT8M_SIGNING_PASSWORD", raising=False)
    check_keys(RegistryConfig())
    check_keys(RegistryConfig(signing_key=str(keys.secret), trusted_key=str(keys.public)))
    with pytest.raises(UserError, match="belong together"):
        check_keys(RegistryConfig(signing_key=str(keys.secret), trusted_key=str(other.public)))
    config = RegistryConfig(signing_key=str(locked.secret), trusted_key=str(locked.public))
    with pytest.raises(UserError, match="YT8M_SIGNING_PASSWORD"):
        check_keys(config)
    monkeypatch.setenv("YT8M_SIGNING_PASSWORD", PASSWORD)
    check_keys(config)
    with pytest.raises(UserError, match="cannot sign"):
        check_keys(RegistryConfig(signing_key=str(tmp_path / "absent")))
    with pytest.raises(ConfigError, match="trusted_key"):
        RegistryConfig(signing_key=str(keys.secret), require_signature=True)


def test_without_its_package_a_signer_says_what_to_install(
    keys: KeyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "model_signing", None)
    with pytest.raises(UserError, match=r"`make sign` .*, or install yt8m-pipeline\[sign\]"):
        check_keys(RegistryConfig(signing_key=str(keys.secret)))


def test_no_file_and_no_text_of_a_signer_holds_its_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = KeyPair(tmp_path, "locked", password=PASSWORD)
    monkeypatch.setenv("YT8M_SIGNING_PASSWORD", PASSWORD)
    signer = signer_of(RegistryConfig(signing_key=str(pair.secret)))
    assert signer is not None
    push_fake_signed = push(
        fake_model(tmp_path / "model"), str(tmp_path / "push"), blessed_record(), signer=signer
    )
    body = pair.secret.read_text().splitlines()[1]

    texts = [repr(signer), *(f.read_text("latin-1") for f in files(Path(push_fake_signed.path)))]
    assert not [text for text in texts if PASSWORD in text or body in text]
    pair.secret.write_text(f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n")
    with pytest.raises(UserError) as raised:
        signer.sign("1", {})
    assert body not in str(raised.value)
    assert raised.value.__suppress_context__


def test_the_commands_verify_sign_and_refuse(
    tmp_path: Path, keys: KeyPair, capsys: pytest.CaptureFixture[str]
) -> None:
    registry = str(tmp_path / "push")
    push_fake(tmp_path, tmp_path / "push")
    verify = ["models", "verify", "--push", registry, "--key", str(keys.public)]
    rollback_to = ["models", "rollback", "--push", registry, "--signing-key", str(keys.secret)]

    assert run(verify) == 2
    assert "no signature" in capsys.readouterr().out
    assert run([*rollback_to, "1", "--key", str(keys.public)]) == 2
    assert "no signature" in capsys.readouterr().err
    assert run([*rollback_to, "1"]) == 0
    capsys.readouterr()
    assert run([*verify, "2"]) == 0
    assert capsys.readouterr().out.startswith("version 2: verified, signed")
    assert run(["models", "verify", "--push", registry, "--key", str(tmp_path / "absent")]) == 2
    assert "absent: no such file" in capsys.readouterr().err
