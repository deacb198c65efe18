"""A cluster in a box (script/cluster) and what runs in it, for script/validate-matrix."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().with_name("cluster")


class RunFailed(Exception):
    """With what was printed nevertheless, and the exit status, if it came to that."""

    def __init__(self, why, status=None, out=""):
        super().__init__(why)
        self.status, self.out = status, out


class BoxLost(Exception):
    """It does not come up."""


def stop(running):
    """With all that it started in its session."""
    os.killpg(running.pid, signal.SIGTERM)
    try:
        running.wait(timeout=10)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()


class Box:
    """Up while it is entered."""

    def __init__(self, name, nodes, rate):
        self.name, self.nodes, self.rate = name, nodes, rate

    def cluster(self, verb, *arguments):
        command = [SCRIPT, verb, *arguments, "--name", self.name]
        # Of a session of its own: Ctrl-C is for this script, which then ends what runs.
        return subprocess.run(
            command, capture_output=True, text=True, check=False, start_new_session=True
        )

    def up(self):
        answer = self.cluster("up", "--nodes", str(self.nodes), "--rate", self.rate)
        if answer.returncode != 0:
            raise BoxLost(answer.stderr.strip())

    def down(self):
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        answer = self.cluster("down")
        signal.signal(signal.SIGINT, before)
        if answer.returncode != 0:
            print(f"script/cluster: {answer.stderr.strip()}", file=sys.stderr, flush=True)

    def renew(self):
        """Without what still runs there."""
        self.down()
        self.up()

    def __enter__(self):
        try:
            self.up()
        except KeyboardInterrupt:
            self.down()
            raise
        return self

    def __exit__(self, *_):
        self.down()

    def run(self, ranks, command, most_s):
        """What it prints; RunFailed says why not."""
        script = [SCRIPT, "run", "--realtime", "--name", self.name]
        running = subprocess.Popen(
            [*script, "-n", str(ranks), "--", *map(str, command)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            out, errors = running.communicate(timeout=most_s)
        except subprocess.TimeoutExpired:
            stop(running)
            raise RunFailed(f"not done after {most_s:.0f} s") from None
        except KeyboardInterrupt:
            stop(running)
            raise
        if running.returncode != 0:
            said = [line for line in errors.splitlines() if re.search("[a-z]", line)]
            own = [line for line in said if line.startswith(("gradweave:", "script/cluster:"))]
            why = [*own, *said, "it says nothing"][0]
            status = running.returncode
            raise RunFailed(f"status {status}: {why[:300]}", status, out)
        return out
