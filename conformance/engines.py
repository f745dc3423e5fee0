"""The engines of `runners/`, and environments with their packages."""

import ast
import subprocess
import sys
from pathlib import Path

RUNNERS = Path(__file__).parent / "runners"


class EngineError(Exception):
    """An engine cannot be asked."""


def engines():
    """The names of the runners."""
    return [path.stem for path in sorted(RUNNERS.glob("*.py")) if "def version(" in path.read_text()]


def constant(engine, name, default):
    """A constant of a runner, which cannot be imported without the packages of its engine."""
    for statement in ast.parse((RUNNERS / f"{engine}.py").read_text()).body:
        if isinstance(statement, ast.Assign) and statement.targets[0].id == name:
            return ast.literal_eval(statement.value)
    return default


def python_with(engine, folder):
    """The Python of an environment that contains the packages of an engine. The environment is created if missing."""
    environment = Path(folder, engine)
    python = environment / "bin" / "python"
    # The marker is written last, so that an interrupted installation is repeated.
    marker = environment / "installed"
    if not marker.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", environment], check=True)
        packages = constant(engine, "PACKAGES", [])
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if packages and subprocess.run([*pip, *packages]).returncode != 0:
            raise EngineError(f"pip cannot install {', '.join(packages)}")
        marker.touch()
    return python
