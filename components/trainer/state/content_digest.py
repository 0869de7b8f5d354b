"""Digests of what a trainer's source paths lead to, for keys that must not depend on a path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from yt8m.components.records.vocabulary import vocabulary_digest
from yt8m.components.trainer.state.warm_start import weights_digest
from yt8m.components.trainer.teacher import teacher_digest
from yt8m.schemas.roles import Content, SourcePath, fields_with

_DIGESTS: Mapping[Content, Callable[[str], str]] = {
    Content.FILE: vocabulary_digest,
    Content.WEIGHTS: weights_digest,
}


def content_digest(content: Content, path: str, *, key: str) -> str:
    """Digest what is at `path`, "" of no path; UserError where it is absent or something else.

    `key` is the setting that holds the path.
    """
    if content is Content.MODEL:
        return teacher_digest(path, key=key)
    return _DIGESTS[content](path)


def content_digests(node: Any, *, path: str) -> dict[str, str]:
    """Digest what the source paths in a node lead to, by their keys; `path` is the node's own."""
    by_key = {f"{path}.{field.path}": field for field in fields_with(node, SourcePath)}
    return {
        key: content_digest(field.role.content, field.value, key=key)
        for key, field in by_key.items()
        if field.value
    }
