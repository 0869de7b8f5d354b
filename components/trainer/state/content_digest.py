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
    Content.MODEL: teacher_digest,
}


def content_digest(content: Content, path: str) -> str:
    """Digest what is at `path`, "" of no path; UserError where it is absent or something else."""
    return _DIGESTS[content](path)


def content_digests(node: Any, *, path: str) -> dict[str, str]:
    """Digest what the source paths in a node lead to, by their keys; `path` is the node's own."""
    return {
        f"{path}.{field.path}": content_digest(field.role.content, field.value)
        for field in fields_with(node, SourcePath)
        if field.value
    }
