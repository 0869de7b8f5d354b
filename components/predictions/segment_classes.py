"""Classes that a file of segments may name: the 1,000 rated ones of 2019, or others."""

from __future__ import annotations

from importlib.resources import files

from yt8m.components import storage
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import NUM_CLASSES

PUBLISHED, ALL = "published", "all"
RATED_FILE = "segment_label_ids.csv"  # as Google published it


def allowed_classes(named: str, num_classes: int | None) -> tuple[int, ...] | None:
    """The classes that `named` means, in ascending order; None for all.

    `named` is `published`, `all`, or a file that is read; empty: the published ones, where a model
    scores the 3,862 classes that they are among.
    """
    if named == ALL or (not named and num_classes not in (None, NUM_CLASSES)):
        return None
    if named in ("", PUBLISHED):
        return parse_classes((files("yt8m.schemas") / RATED_FILE).read_text(), where=PUBLISHED)
    try:
        text = storage.read_text(named)
    except FileNotFoundError as error:
        raise UserError(
            f"segment classes {named}: no such file; `{PUBLISHED}` and `{ALL}` need none"
        ) from error
    except UnicodeDecodeError as error:
        raise UserError(
            f"segment classes {named}: is not UTF-8 text ({error}); save it as UTF-8"
        ) from error
    return parse_classes(text, where=named)


def parse_classes(text: str, *, where: str) -> tuple[int, ...]:
    """The numbers in the first column of `text`; a header is passed over."""
    lines = text.removeprefix("\ufeff").splitlines()
    fields = [line.partition(",")[0].strip() for line in lines]
    numbers = [field for line, field in enumerate(fields) if field and (line or field.isdecimal())]
    wrong = [field for field in numbers if not field.isdecimal()]
    if wrong or not numbers:
        shown = repr(wrong[0]) if wrong else "nothing"
        raise UserError(f"segment classes {where}: {shown}, where a class's number is expected")
    return tuple(sorted(set(map(int, numbers))))
