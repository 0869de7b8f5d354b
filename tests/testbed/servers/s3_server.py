"""An S3 server of moto's in a process of its own, on this machine only."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import boto3
from faulty_proxy import FaultyProxy, faulty_proxy
from server_process import free_port, server_process

from yt8m.components.storage import s3

BUCKET = "bucket"
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "us-east-1",
    "S3_IGNORE_SUBDOMAIN_BUCKETNAME": "true",  # else moto takes a host's first name for one
}


@contextmanager
def s3_server(host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """`s3://bucket`, empty, reached by every S3 client of this process and its children."""
    port = port or free_port()
    command = [sys.executable, "-m", "moto.server", "-H", host, "-p", str(port)]
    environment = {**ENVIRONMENT, "AWS_ENDPOINT_URL_S3": f"http://{host}:{port}"}
    with (
        mock.patch.dict(os.environ, environment),
        server_process(command, lambda: boto3.client("s3").create_bucket(Bucket=BUCKET)),
    ):
        s3.client.cache_clear()
        yield f"s3://{BUCKET}"
    s3.client.cache_clear()


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
