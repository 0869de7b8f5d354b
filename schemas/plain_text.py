"""Text from elsewhere (ids, class names, messages of libraries), escaped for display.

Control characters write to a terminal what they like; marks of direction show a text in another
order than it has; a cell that begins like a formula is one to a spreadsheet.
"""

from __future__ import annotations

_KEPT = "\t\n"
_CONTROL = (*range(0x20), *range(0x7F, 0xA0))
_DIRECTION = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_SHOWN = {
    number: repr(chr(number))[1:-1]
    for number in (*_CONTROL, *_DIRECTION)
    if chr(number) not in _KEPT
}
_FORMULA = ("=", "+", "-", "@", "\t")


def plain(text: str) -> str:
    """`text` with control characters and marks of direction as Python writes them: `\\x1b`."""
    return text.translate(_SHOWN)


def csv_cell(value: object) -> object:
    """A value for a CSV file: text is plain, and after an apostrophe where it looks like a formula.

    A number stays a number, also below zero.
    """
    if not isinstance(value, str):
        return value
    text = plain(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
