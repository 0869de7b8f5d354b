"""Addresses of web servers, which options, environment and configuration give."""

from __future__ import annotations

from urllib.parse import urlsplit

_SCHEMES = ("http", "https")


def url_problem(text: str) -> str:
    """What to do about an address that is none; "" where it is one."""
    try:
        parts = urlsplit(text)
        is_url = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a bracket or a port that is none
        is_url = False
    if is_url and text.isprintable() and " " not in text:
        return ""
    return "no URL of a web server; write it like http://localhost:8080"
