"""A farm of its own for the test of the page: a coordinator and workers, as programs of .build/debug."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("SHEAF_PROGRAMS", REPOSITORY / ".build/debug"))
TOKEN = "a token"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Farm:
    """Needs PostgreSQL as `pg_virtualenv` gives it."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sheaf-page-"))
        self.http = free_port()
        self.port = free_port()
        self.programs = {}
        self.environment = dict(
            os.environ, SHEAF_TOKEN=TOKEN, SHEAF_STORE=str(self.folder / "store"),
            SHEAF_DATABASE="postgres://{PGUSER}:{PGPASSWORD}@{PGHOST}:{PGPORT}/postgres".format(**os.environ))
        self.start_coordinator()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.http}"

    def start(self, name, *command):
        log = open(self.folder / f"{name}.log", "ab")
        self.programs[name] = subprocess.Popen(
            [str(part) for part in command], env=self.environment, stdout=log, stderr=log, start_new_session=True)

    def start_coordinator(self):
        self.start(
            "coordinator", PROGRAMS / "sheaf-server", "serve", "--http", f"127.0.0.1:{self.http}", "--listen",
            f"127.0.0.1:{self.port}")
        limit = time.monotonic() + 30
        while True:
            try:
                urllib.request.urlopen(f"{self.address}/healthz", timeout=1).close()
                return
            except OSError:
                if time.monotonic() > limit:
                    raise TimeoutError("the coordinator does not start:\n" + self.log("coordinator"))
                time.sleep(0.05)

    def start_worker(self, name, process=None):
        process = process or name
        self.start(
            f"worker-{process}", PROGRAMS / "sheaf-worker", "--coordinator", f"127.0.0.1:{self.port}", "--slots", "1",
            "--name", name, "--cache", self.folder / f"cache-{process}")

    def kill(self, name):
        """As a machine that fails: the program and what it has started end at once."""
        program = self.programs.pop(name)
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()

    def request(self, method, path, value=None):
        body = None if value is None else json.dumps(value).encode()
        request = urllib.request.Request(
            self.address + path, data=body, method=method,
            headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as reply:
            text = reply.read()
        return json.loads(text) if text else None

    def log(self, name):
        return (self.folder / f"{name}.log").read_text(errors="replace")[-4000:]

    def end(self):
        for name in list(self.programs):
            self.kill(name)
        shutil.rmtree(self.folder, ignore_errors=True)
