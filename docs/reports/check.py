#!/usr/bin/env python3
"""Runs the script of each report and compares its output with the pasted output.

`check.py` checks all reports, `check.py FILE...` checks some. Needs the packages that the reports name.
The exit code is 0 if every script ran and printed the pasted output, so every fault is still present.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
SECONDS = 120


def block(text, language):
    """The only code block of a language."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    if len(found) != 1:
        raise ValueError(f"{len(found)} blocks of {language}, not 1")
    return found[0]


def check(report):
    """`present`, or why the output is not the pasted one."""
    text = report.read_text()
    script, pasted = block(text, "python"), block(text, "text")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "script.py").write_text(script)
        command = [sys.executable, "script.py"]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return f"no end within {SECONDS} s"
    missing = re.search(r"^ModuleNotFoundError: .*", done.stderr, re.MULTILINE)
    if missing:
        return f"not checked: {missing[0]}"
    if done.stdout == pasted and done.returncode == 0:
        return "present"
    last_error = done.stderr.strip().splitlines()[-1:] if done.returncode else []
    return "\n  ".join([f"differs, exit code {done.returncode}", *done.stdout.splitlines(), *last_error])


def main():
    reports = [Path(name) for name in sys.argv[1:]]
    results = []
    for report in reports or sorted(path for path in HERE.glob("*.md") if path.name != "README.md"):
        results.append(check(report))
        print(f"{report.name}: {results[-1]}", flush=True)
    return 0 if set(results) == {"present"} else 1


if __name__ == "__main__":
    sys.exit(main())
