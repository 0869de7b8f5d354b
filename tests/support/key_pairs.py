"""Keys that sign versions in tests."""

from __future__ import annotations

import hashlib
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from yt8m.components.artifacts.version_record import SIGNATURE_FILE
from yt8m.components.registry.signature import Signer, Trust


class KeyPair:
    """A new EC key, as files."""

    def __init__(self, place: Path, name: str, *, password: str = "") -> None:
        self.private_key = ec.generate_private_key(ec.SECP256R1())
        encryption = BestAvailableEncryption(password.encode()) if password else NoEncryption()
        self.secret, self.public = place / f"{name}.key", place / f"{name}.pub"
        self.secret.write_bytes(
            self.private_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
        )
        self.public.write_bytes(
            self.private_key.public_key().public_bytes(
                Encoding.PEM, PublicFormat.SubjectPublicKeyInfo
            )
        )
        self.signer = Signer(key=str(self.secret), password=password)
        self.trust = Trust(key=str(self.public))

    def sign(self, version: Path) -> None:
        """Replace the signature of all files of the version that is there."""
        digests = {
            str(file.relative_to(version)): hashlib.sha256(file.read_bytes()).hexdigest()
            for file in version.rglob("*")
            if file.is_file() and file.name != SIGNATURE_FILE
        }
        (version / SIGNATURE_FILE).write_text(self.signer.sign(version.name, digests))
