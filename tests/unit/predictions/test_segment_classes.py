"""Which classes a file of segments may name."""

import http.server
import threading
from pathlib import Path

import pytest

from yt8m.cli.arguments.scoring import PredictArguments
from yt8m.cli.predict import classes_of
from yt8m.components.predictions.plan import Format
from yt8m.components.predictions.segment_classes import allowed_classes, parse_classes
from yt8m.components.storage.errors import StorageError
from yt8m.schemas.errors import UserError

PUBLISHED = 1000


def test_the_published_classes_are_a_thousand_of_the_vocabulary_s():
    classes = allowed_classes("published", None)
    assert classes is not None
    assert len(classes) == len(set(classes)) == PUBLISHED
    assert list(classes) == sorted(classes)
    assert (classes[0], classes[-1] < 3862) == (3, True)


@pytest.mark.parametrize(
    ("named", "num_classes", "expected"),
    [
        ("", 3862, PUBLISHED),
        ("", None, PUBLISHED),
        ("", 50, None),  # classes of its own, which the list does not speak of
        ("all", 3862, None),
        ("published", 50, PUBLISHED),  # refused afterwards, for the model has no such classes
    ],
)
def test_the_default_is_the_published_list_for_models_of_the_vocabulary(
    named, num_classes, expected
):
    classes = allowed_classes(named, num_classes)
    assert (classes if classes is None else len(classes)) == expected


def test_a_file_is_read_with_or_without_a_header(tmp_path: Path):
    path = tmp_path / "classes.csv"
    for text in ("Index\n7\n3\n", "7\n3", "7,Game\n3,Car\n7,Game\n", "\ufeff7\n3\n"):
        path.write_text(text, encoding="utf-8")
        assert allowed_classes(str(path), 50) == (3, 7)


def test_a_file_in_another_encoding_is_named(tmp_path: Path):
    (tmp_path / "classes.csv").write_bytes("3,Café\n".encode("latin-1"))
    with pytest.raises(UserError, match=r"classes.csv: is not UTF-8 text"):
        allowed_classes(str(tmp_path / "classes.csv"), 50)


@pytest.mark.parametrize(
    ("text", "why"), [("", "nothing"), ("Index\nx\n", "'x'"), ("1\n-2", "'-2'")]
)
def test_what_is_no_number_is_shown(text, why):
    with pytest.raises(UserError, match=why):
        parse_classes(text, where="x.csv")


class _Served(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        found = self.path == "/classes.csv"
        self.send_response(200 if found else 404)
        self.end_headers()
        self.wfile.write(b"Index\n9\n4\n" if found else b"")

    def log_message(self, *_: object) -> None:
        pass


def test_an_address_is_read(tmp_path: Path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Served)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        place = f"http://127.0.0.1:{server.server_port}"
        arguments = PredictArguments(
            model="m", data="d", out="o", format=Format.SEGMENT,
            segment_classes=f"{place}/classes.csv",
        )  # fmt: skip
        assert classes_of(arguments, 50) == (4, 9)
        lost = PredictArguments(
            model="m", data="d", out="o", format=Format.SEGMENT, segment_classes=f"{place}/x"
        )
        with pytest.raises(StorageError, match="404"):
            classes_of(lost, 50)
    finally:
        server.shutdown()
        server.server_close()
