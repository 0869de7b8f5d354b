"""Signatures of versions by OpenSSF model-signing: written at the push, verified on demand.

A signature lists the SHA-256 of every file of the version but its own, the record and the
provenance statement among them. `model_signing verify` reads it without yt8m. The package is an
extra, `yt8m[sign]`; nothing here imports it before somebody signs or verifies.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yt8m.components import storage
from yt8m.components.artifacts.version_record import SIGNATURE_FILE
from yt8m.components.registry.config import PASSWORD_ENV, RegistryConfig
from yt8m.components.registry.digests import file_sha256
from yt8m.components.registry.readings import pause
from yt8m.components.registry.versions import (
    UnreadableVersionError,
    UnusableVersionError,
    Version,
)
from yt8m.schemas.errors import UserError

if TYPE_CHECKING:
    from model_signing.manifest import Manifest

_CERTIFICATE = b"-----BEGIN CERTIFICATE-----"
_SERIALIZATION = {
    "method": "files",
    "hash_type": "sha256",
    "allow_symlinks": False,
    "ignore_paths": [SIGNATURE_FILE],
}


class UnsignedVersionError(UnusableVersionError):
    """A version without a valid signature, where one is demanded."""


@dataclass(frozen=True, kw_only=True)
class Signer:
    """A private key, by its file, and its certificates where there are any."""

    key: str
    certificates: str = ""
    password: str = field(default="", repr=False)
    password_env: str = PASSWORD_ENV

    def sign(self, name: str, sha256_by_name: Mapping[str, str]) -> str:
        """The signature of a version with these files; UserError where the key cannot be used."""
        package = _package()
        config = package.signing.Config()
        try:
            if self.certificates:
                config.use_certificate_signer(
                    private_key=self.key,
                    signing_certificate=self.certificates,
                    certificate_chain=[self.certificates],
                )
            else:
                password = self.password.encode() or None
                config.use_elliptic_key_signer(private_key=self.key, password=password)
        # Of cryptography and OpenSSL, many kinds, all about the file. Their texts may quote it.
        except Exception as error:
            raise UserError(
                f"{self.key} cannot sign ({type(error).__name__}): give the PEM file of a private "
                "key on curve P-256, P-384 or P-521, its password in the environment variable "
                f"{self.password_env}, and certificates of this very key; with certificates the "
                "key must not be encrypted"
            ) from None
        config.set_hashing_config(_known_files(name, sha256_by_name))
        with tempfile.TemporaryDirectory(prefix="yt8m-signature-") as place:
            file = Path(place, "signature")
            config.sign(place, file)
            return file.read_text()

    def has_signed(self, path: str) -> bool:
        """Whether the version at `path` has a valid signature of this very key."""
        if self.certificates:
            return not signature_problems(path, Trust(key=self.certificates))
        from cryptography.hazmat.primitives import serialization

        password = self.password.encode() or None
        key = serialization.load_pem_private_key(Path(self.key).read_bytes(), password)
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        with tempfile.NamedTemporaryFile(prefix="yt8m-public-key-") as file:
            file.write(public)
            file.flush()
            return not signature_problems(path, Trust(key=file.name))


@dataclass(frozen=True, kw_only=True)
class Trust:
    """Whose signatures are valid: those of a public key, or of certificates of these issuers."""

    key: str

    def check(self, signature: str, name: str, sha256_by_name: Mapping[str, str]) -> None:
        """ValueError unless `signature` is ours, and of exactly these files."""
        package = _package()
        config = package.verifying.Config()
        try:
            content = Path(self.key).read_bytes()
            if _CERTIFICATE in content:
                config.use_certificate_verifier(certificate_chain=[self.key])
            else:
                config.use_elliptic_key_verifier(public_key=self.key)
        except Exception as error:  # of cryptography, many kinds, all about the file
            raise UserError(
                f"{self.key} cannot verify ({type(error).__name__}): give the PEM file of a public "
                "EC key, or of certificates of trusted issuers"
            ) from None
        config.set_hashing_config(_known_files(name, sha256_by_name))
        with tempfile.TemporaryDirectory(prefix="yt8m-signature-") as place:
            file = Path(place, "signature")
            file.write_text(signature)
            try:
                config.verify(place, file)
            except Exception as error:  # of four libraries, all about this signature
                text = str(error).strip() or type(error).__name__
                raise ValueError(text.splitlines()[0].rstrip(". ")) from error


def signer_of(config: RegistryConfig) -> Signer | None:
    """The configured signer; None where versions are not signed."""
    if not config.signing_key:
        return None
    return Signer(
        key=config.signing_key,
        certificates=config.signing_certificates,
        password=config.password(),
        password_env=config.password_env,
    )


def required_trust(config: RegistryConfig) -> Trust | None:
    """Whose signature is demanded; None where none is."""
    return Trust(key=config.trusted_key) if config.require_signature else None


def check_keys(config: RegistryConfig) -> None:
    """UserError where a push could not sign, or what it signs would not be trusted."""
    signer = signer_of(config)
    probe = {"probe": hashlib.sha256(b"probe").hexdigest()}
    signature = signer.sign("probe", probe) if signer else ""
    if not (signer and config.trusted_key):
        return
    try:
        Trust(key=config.trusted_key).check(signature, "probe", probe)
    except ValueError as error:
        raise UserError(
            f"registry.trusted_key {config.trusted_key} does not accept what registry.signing_key "
            f"{config.signing_key} signs ({error}): they must belong together"
        ) from error


def signature_problems(path: str, trust: Trust) -> list[str]:
    """List why the version at `path` cannot be trusted. Every file is read."""
    problems = [*_signature_problems(path, trust)]
    if problems and storage.local_path(path) is None:
        pause(path)  # one answer of an object store may be wrong; a valid signature cannot be
        problems = [*_signature_problems(path, trust)]
    return problems


def _signature_problems(path: str, trust: Trust) -> Iterator[str]:
    local = storage.local_path(path)
    if local is not None:
        links = [file for file in (local, *sorted(local.rglob("*"))) if file.is_symlink()]
        if links:
            yield from (f"{link.relative_to(local.parent)} is a link" for link in links)
            return
    try:
        signature = storage.read_text(storage.join(path, SIGNATURE_FILE))
        names = [name for name in storage.walk_files(path) if name != SIGNATURE_FILE]
        digests = {name: file_sha256(storage.join(path, name)) for name in names}
    except FileNotFoundError:
        yield f"it has no signature ({SIGNATURE_FILE})"
        return
    except UnicodeDecodeError as error:
        yield f"{SIGNATURE_FILE} is no text ({error})"
        return
    except OSError as error:  # which says nothing about the content
        raise UnreadableVersionError(f"{path} cannot be read now: {error}") from error
    try:
        trust.check(signature, path.rpartition("/")[2], digests)
    except ValueError as error:
        yield f"its signature is not valid for {trust.key}: {error}"


def require_signed(version: Version, trust: Trust | None) -> None:
    """UnsignedVersionError where `trust` is demanded and the version has it not."""
    problems = signature_problems(version.path, trust) if trust else []
    if problems:
        raise UnsignedVersionError(
            f"version {version.number} at {version.path} is not trusted: {'; '.join(problems)}. "
            "registry.require_signature demands a valid signature. If you trust its files, sign "
            f"them again: yt8m models rollback {version.number} --push "
            f"{version.path.rpartition('/')[0]} --signing-key KEY.pem"
        )


def _known_files(name: str, sha256_by_name: Mapping[str, str]) -> Any:
    """A configuration of model-signing's hashing that reads no file: the digests are known."""
    from model_signing import hashing, manifest

    serialization = manifest.SerializationType.from_args(_SERIALIZATION)
    digest = manifest.hashing.Digest

    class KnownFiles(hashing.Config):
        def hash(self, model_path: Any, *, files_to_hash: Any = None) -> Manifest:
            return manifest.Manifest(
                name,
                [
                    serialization.new_item(file, digest("sha256", bytes.fromhex(sha256)))
                    for file, sha256 in sha256_by_name.items()
                ],
                serialization,
            )

    return KnownFiles()


def _package() -> Any:
    try:
        import model_signing
        import model_signing.signing
        import model_signing.verifying
    except ModuleNotFoundError as error:
        raise UserError(
            "signatures need the package model-signing, which is not installed "
            f"({error}): `make sign` in a checkout, or install yt8m-pipeline[sign]"
        ) from error
    return model_signing
