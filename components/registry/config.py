"""Signatures of the registry's versions: who signs, and what must be signed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from yt8m.schemas.config_tree import ConfigNode, require
from yt8m.schemas.limits import not_empty
from yt8m.schemas.roles import KeyFile

PASSWORD_ENV = "YT8M_SIGNING_PASSWORD"


@dataclass(frozen=True, kw_only=True)
class RegistryConfig(ConfigNode):
    """Signatures of the registry's versions: who signs, and what must be signed."""

    # PEM file of the private EC key that signs each pushed version; empty: versions are not signed.
    signing_key: Annotated[str, KeyFile()] = ""
    # PEM file of the key's certificate and its issuers', in this order; empty: the key alone signs.
    signing_certificates: Annotated[str, KeyFile()] = ""
    # The environment variable that holds the password of an encrypted key.
    password_env: Annotated[str, not_empty("the name of an environment variable")] = PASSWORD_ENV
    # PEM file that signatures are verified with: a public key, or certificates of trusted issuers.
    trusted_key: Annotated[str, KeyFile()] = ""
    # Demand a valid signature of a baseline, a champion, a rollback's version and each push.
    require_signature: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("signing_key", "trusted_key"):
            require(
                bool(getattr(self, name)) or not self.require_signature,
                name,
                getattr(self, name),
                "a PEM file where registry.require_signature is true",
            )
        require(
            bool(self.signing_key) or not self.signing_certificates,
            "signing_certificates",
            self.signing_certificates,
            "left out where registry.signing_key is empty",
        )

    def password(self, environ: Mapping[str, str] = os.environ) -> str:
        """The password of the signing key, empty where it has none. It must appear nowhere."""
        return environ.get(self.password_env, "")
