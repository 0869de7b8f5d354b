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
    """Signatures of the registry's versions."""

    # PEM file of the private EC key that signs each pushed version; empty: no signature.
    signing_key: Annotated[str, KeyFile()] = ""
    # PEM file of the signing key's certificate and its issuers', in this order; empty: none.
    signing_certificates: Annotated[str, KeyFile()] = ""
    # Environment variable with the password of an encrypted signing key.
    password_env: Annotated[str, not_empty("the name of an environment variable")] = PASSWORD_ENV
    # PEM file that verifies signatures: a public key, or certificates of trusted issuers.
    trusted_key: Annotated[str, KeyFile()] = ""
    # Require a valid signature for baselines, champions, rollbacks and pushes.
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
            "omitted where registry.signing_key is empty",
        )

    def password(self, environ: Mapping[str, str] = os.environ) -> str:
        """The password of the signing key, empty where it has none. It must appear nowhere."""
        return environ.get(self.password_env, "")
