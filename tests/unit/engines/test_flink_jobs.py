"""A job is cancelled by Flink's own API, which a server here speaks as Flink was seen to."""

import json
import logging
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from yt8m.components.engines import flink_jobs

OURS = "BeamApp-root-1122173556-4baa31a"


@pytest.fixture
def flink():
    """Its address, and what each job's state is."""
    states = {"a1": (OURS, "RUNNING"), "b2": ("another", "RUNNING"), "c3": (OURS, "FINISHED")}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path == "/jobs/c3/exceptions":
                return self.answer(200, {"root-exception": "Lost connection to ..."})
            if self.path != "/jobs/overview":
                return self.answer(200, {"root-exception": None})
            rows = [{"jid": j, "name": n, "state": s} for j, (n, s) in states.items()]
            return self.answer(200, {"jobs": rows})

        def do_PATCH(self):
            (job,) = re.fullmatch(r"/jobs/(\w+)\?mode=cancel", self.path).groups()
            states[job] = (states[job][0], "CANCELED")
            self.answer(202, {})

        def answer(self, code, value):
            self.send_response(code)
            self.end_headers()
            self.wfile.write(json.dumps(value).encode())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("localhost", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"localhost:{server.server_port}", states
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("scheme", ["", "http://"])
def test_our_job_is_cancelled_and_no_other(flink, scheme):
    address, states = flink
    flink_jobs.cancel(scheme + address, OURS, wait_s=10)
    assert {job: state for job, (_, state) in states.items()} == {
        "a1": "CANCELED",
        "b2": "RUNNING",
        "c3": "FINISHED",
    }


def test_the_causes_of_a_failure_are_those_of_our_job(flink):
    address, _ = flink
    assert flink_jobs.failure(address, OURS).strip() == "Lost connection to ..."
    assert flink_jobs.failure("localhost:1", OURS) == ""


def test_a_flink_that_does_not_answer_is_told_and_no_more(caplog):
    with caplog.at_level(logging.WARNING):
        flink_jobs.cancel("localhost:1", OURS, wait_s=10)
    assert f"Flink at localhost:1 did not cancel the job {OURS}" in caplog.text
