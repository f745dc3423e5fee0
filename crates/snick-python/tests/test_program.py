"""The program that mypy checks also runs, and importing snick does not import large packages."""

import subprocess
import sys

import program


def test_the_typed_program_runs():
    program.main()


def test_numpy_is_imported_when_it_is_needed():
    code = "import sys, snick; print([name for name in ('numpy', 'json', 'pandas', 'openvino') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
