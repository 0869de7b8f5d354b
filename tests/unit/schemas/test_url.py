"""Which texts are addresses of web servers."""

from __future__ import annotations

import pytest

from yt8m.components.extras.published.http import read_text
from yt8m.schemas.errors import UserError
from yt8m.schemas.url import url_problem


@pytest.mark.parametrize(
    "text",
    ["http://localhost:8080", "https://kubeflow.example.org/pipeline/", "http://[::1]:80/x?y=1"],
)
def test_an_address_has_no_problem(text: str) -> None:
    assert url_problem(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "foo",
        "localhost:8080",
        "ftp://host",
        "http://",
        "http:///x",
        "http://a b",
        "http://a\nb",
        "http://[::1",
        "http://host:port",
        "http://host:99999",
    ],
)
def test_what_is_none_is_named_before_anything_is_sent(text: str) -> None:
    assert "write it like http" in url_problem(text)
    with pytest.raises(UserError, match="no URL of a web server"):
        read_text(text)
