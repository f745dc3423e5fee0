"""Runs an engine in a process of its own, so that its crash or hang is a result."""

import json
import os
import select
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile

from engines import EngineError
from runners import NotOffered

# A first start may compile a runner.
START_SECONDS = 600


def serve(engine):
    """Answers the questions on standard input. What the engine prints goes to standard error."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    runner = import_module(f"runners.{engine}")
    offered = [kind for kind in ("infer", "run") if hasattr(runner, kind)]
    if not offered:
        sys.exit("the runner defines neither infer nor run")
    hello = {"version": runner.version(), "offered": offered}
    hello |= {"dialect": getattr(runner, "DIALECT", None), "least": getattr(runner, "LEAST", 0)}
    print(json.dumps(hello), file=replies, flush=True)
    for line in sys.stdin:
        kind, case = json.loads(line)
        print(json.dumps(reply(runner, offered, kind, case)), file=replies, flush=True)


def reply(runner, offered, kind, case):
    """`{"answer": .., "is_run": ..}`, or a text under `"error"`, `"not_offered"` or `"malformed"`."""
    kinds = offered if kind == "refuse" else [kind]
    if kinds == ["infer"] and case["expect"].get("refused") == "run":
        kinds = []
    if not set(kinds) & set(offered):
        return {"not_offered": "kind of question"}
    answer, is_run, reasons = None, False, []
    for name in kinds:
        try:
            answer = getattr(runner, name)(case)
            is_run = name == "run"
        except NotOffered as reason:
            reasons.append(str(reason))
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"[:500]}
        else:
            if not is_answer(name, answer):
                return {"malformed": f"{name} returned {answer!r}"[:500]}
    return {"not_offered": reasons[0]} if len(reasons) == len(kinds) else {"answer": answer, "is_run": is_run}


def is_answer(kind, answer):
    """Whether an answer has the format that `README.md` describes."""
    if kind == "infer":
        return answer is None or isinstance(answer, list) and all(type(dim) in (int, str) for dim in answer)
    is_pair = isinstance(answer, list) and len(answer) == 2 and all(isinstance(part, list) for part in answer)
    return is_pair and all(type(number) is int for part in answer for number in part)


def is_failed(found):
    """Whether the process of the engine cannot go on."""
    return "crash" in found or "hang" in found or found.get("error", "").startswith("MemoryError")


class Worker:
    """An engine in another process, which is started again after a crash or a hang."""

    def __init__(self, engine, seconds, python):
        self.engine, self.seconds, self.python, self.process = engine, seconds, python, None
        self.start()

    def start(self):
        command = [str(self.python), str(Path(__file__).parent / "run.py"), self.engine, "--serve"]
        # An engine may print more than a pipe holds.
        self.printed = TemporaryFile("w+")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self.printed}
        self.process = subprocess.Popen(command, text=True, **pipes)
        hello = self.read(START_SECONDS)
        if "version" not in hello:
            self.printed.seek(0)
            last = (self.printed.read().strip().splitlines() or ["no message"])[-1]
            raise EngineError(f"the runner does not start: {last}")
        self.version, self.dialect, self.least = hello["version"], hello["dialect"], hello["least"]

    def ask(self, kind, case):
        """The reply, or `{"crash": ..}` or `{"hang": ..}`."""
        found = self.ask_once(kind, case, self.seconds)
        if is_failed(found):
            # Other programs may have slowed the engine down, or an earlier question may have damaged its memory.
            found = self.ask_once(kind, case, 3 * self.seconds)
        return found

    def ask_once(self, kind, case, seconds):
        try:
            print(json.dumps([kind, case]), file=self.process.stdin, flush=True)
            found = self.read(seconds)
        except BrokenPipeError:
            found = {"crash": "the process ended"}
        if is_failed(found):
            self.stop()
            self.start()
        if "malformed" in found:
            self.stop()
            raise EngineError(f"malformed answer to {case['id']}: {found['malformed']}")
        return found

    def read(self, seconds):
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            return {"hang": f"no answer within {seconds} s"}
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        return {"crash": f"exit code {self.process.wait()}"}

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin = self.process.stdout = None
