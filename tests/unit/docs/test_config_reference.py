"""The reference in docs/configuration.md is what the code says."""

from config_reference import PAGE, with_reference


def test_reference_is_current() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_reference(page), "write it again with `make reference`"
