"""OpenVINO releases in virtual environments, and worker processes that answer questions about them."""

import json
import pathlib
import shutil
import subprocess
import sys
import threading

WORKER = pathlib.Path(__file__).with_name("release_worker.py")
# Older releases have no wheels for newer Pythons.
PYTHONS = [sys.executable, "python3.12", "python3.11", "python3.10", "python3.9", "python3.8"]
SECONDS = 60


def environment(folder, release):
    """The Python of the virtual environment `openvino-RELEASE`; installs the release if it is missing."""
    path = folder / ("openvino-" + release)
    python = path / "bin/python"
    for candidate in PYTHONS:
        if python.exists():
            return python
        install = [python, "-m", "pip", "install", "-q", "openvino==%s.*" % release, "numpy<2"]
        try:
            for command in [candidate, "-m", "venv", path], install:
                subprocess.run(command, check=True, capture_output=True)
        except (subprocess.CalledProcessError, OSError):
            shutil.rmtree(path, ignore_errors=True)
    if not python.exists():
        raise SystemExit("no Python of %s can install OpenVINO %s" % (", ".join(PYTHONS), release))
    return python


class Runtime:
    """A release, which answers questions; see release_worker.py."""

    def __init__(self, python):
        self.python, self.process = python, None

    def start(self):
        self.process = subprocess.Popen([self.python, WORKER], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.version = json.loads(self.process.stdout.readline())["version"]

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def ask(self, **question):
        """The answer. A crash or a hang is an error `crash`; the first one is tried again in a fresh process, because
        an earlier question may have damaged the memory."""
        for _ in range(2):
            is_fresh = self.process is None
            answer = self.ask_once(question)
            if answer is not None:
                return answer
            self.stop()
            if is_fresh:
                break
        return {"error": "crash"}

    def ask_once(self, question):
        if self.process is None:
            self.start()
        timer = threading.Timer(SECONDS, self.process.kill)
        timer.start()
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        return json.loads(line) if line.endswith("\n") else None
