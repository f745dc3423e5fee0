"""Type checkers in strict mode accept the programs of the documentation and refuse mistakes."""

import ast
import doctest
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parent
ROOT = pathlib.Path(os.environ.get("SNICK_ROOT") or TESTS.parents[2])
MISTAKES = sorted((TESTS / "mistakes").glob("*.py"))


def _program(page):
    """The examples of a page as a program. An expression that is no call becomes an argument of `print`."""
    blocks = re.findall(r"```pycon\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    lines = []
    for example in doctest.DocTestParser().get_examples("\n".join(blocks)):
        # An example that raises an error shows a mistake.
        if example.exc_msg is None:
            statement = ast.parse(example.source).body[0]
            is_value = isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Call)
            lines.append(f"print(\n{example.source})\n" if is_value else example.source)
    return "".join(lines)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the mistakes and with the programs that have none."""
    folder = tmp_path_factory.mktemp("types")
    pages = [page for page in sorted((ROOT / "docs" / "src").glob("*.md")) if "```pycon" in page.read_text("utf-8")]
    assert "python" in [page.stem for page in pages]
    for page in pages:
        (folder / f"page_{page.stem.replace('-', '_')}.py").write_text(_program(page), encoding="utf-8")
    for path in (TESTS / "program.py", *MISTAKES):
        (folder / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    return folder


def _mypy(folder):
    """The lines with errors by file."""
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", folder / "mypy", folder]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    found = re.findall(r"^(.+?):(\d+): error: (.*)", done.stdout, re.MULTILINE)
    return [(pathlib.Path(path).name, int(line), message) for path, line, message in found]


def _pyright(folder):
    """The lines with errors by file."""
    pytest.importorskip("pyright")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", folder]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    found = [one for one in json.loads(done.stdout)["generalDiagnostics"] if one["severity"] == "error"]
    return [(pathlib.Path(one["file"]).name, one["range"]["start"]["line"] + 1, one["message"]) for one in found]


@pytest.mark.parametrize("checker", [_mypy, _pyright])
def test_type_checkers_find_the_mistakes_and_nothing_else(folder, checker):
    found = checker(folder)
    mistakes = set()
    for path in MISTAKES:
        lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        (line,) = [number for number, text in lines if text.endswith("# mistake")]
        mistakes.add((path.name, line))
    assert len(mistakes) >= 10
    assert {(name, line) for name, line, _ in found} == mistakes, found


def test_the_types_of_the_whole_package_are_known():
    pytest.importorskip("pyright")
    # The option has no effect together with `--pythonpath`.
    path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
    command = [sys.executable, "-m", "pyright", "--verifytypes", "snick", "--ignoreexternal", "--outputjson"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PATH": path})
    completeness = json.loads(done.stdout)["typeCompleteness"]
    counts = completeness["exportedSymbolCounts"]
    assert counts["withKnownType"] > 40 and completeness["completenessScore"] == 1
