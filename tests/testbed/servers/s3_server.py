"""An S3 server of moto's in a process of its own, on this machine only."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import boto3
from botocore.exceptions import BotoCoreError, ClientError
from faulty_proxy import FaultyProxy, faulty_proxy

from yt8m.components.storage import s3

BUCKET = "bucket"
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "us-east-1",
}
_START_S = 180.0


@contextmanager
def s3_server() -> Iterator[str]:
    """`s3://bucket`, empty, reached by every S3 client of this process and its children."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    environment = {**ENVIRONMENT, "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{port}"}
    try:
        with mock.patch.dict(os.environ, environment):
            s3.client.cache_clear()
            _create_bucket()
            yield f"s3://{BUCKET}"
    finally:
        s3.client.cache_clear()
        server.terminate()
        server.wait(30)


@contextmanager
def faulty_s3_server() -> Iterator[tuple[str, FaultyProxy]]:
    """The same behind a proxy that passes on what it is not told to damage."""
    with (
        s3_server() as uri,
        faulty_proxy(os.environ["AWS_ENDPOINT_URL_S3"]) as proxy,
        mock.patch.dict(os.environ, {"AWS_ENDPOINT_URL_S3": proxy.url}),
    ):
        s3.client.cache_clear()
        yield uri, proxy


def _create_bucket() -> None:
    deadline = time.monotonic() + _START_S
    while True:
        try:
            boto3.client("s3").create_bucket(Bucket=BUCKET)
            return
        except (BotoCoreError, ClientError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
