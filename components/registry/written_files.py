"""The files that a push writes itself: model card, provenance statement, record, signature."""

from __future__ import annotations

import dataclasses
import hashlib

from yt8m.components.artifacts.version_record import (
    CARD_FILE,
    RECORD_FILE,
    SIGNATURE_FILE,
    STATEMENT_FILE,
    FileRecord,
    VersionRecord,
)
from yt8m.components.registry.model_card import model_card
from yt8m.components.registry.provenance import provenance
from yt8m.components.registry.signature import Signer


def written_files(
    record: VersionRecord, signer: Signer | None
) -> tuple[VersionRecord, dict[str, str]]:
    """The texts by name of a numbered version's own files, and the record that lists them.

    The record lists card and statement, and the signature covers all of them.
    """
    texts = {CARD_FILE: model_card(record)}
    if signer is not None:
        texts[STATEMENT_FILE] = provenance(record)
    listed = {name: _file(text) for name, text in texts.items()}
    record = dataclasses.replace(record, files={**record.files, **listed})
    texts[RECORD_FILE] = record.to_json()
    if signer is not None:
        digests = {name: file.sha256 for name, file in record.files.items()}
        digests[RECORD_FILE] = _file(texts[RECORD_FILE]).sha256
        texts[SIGNATURE_FILE] = signer.sign(str(record.version), digests)
    return record, texts


def _file(text: str) -> FileRecord:
    content = text.encode()
    return FileRecord(bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
