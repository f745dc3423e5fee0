"""The examples in the book and the readmes."""

import doctest
import os
import pathlib
import re

import pytest

import snick

ROOT = pathlib.Path(os.environ.get("SNICK_ROOT") or pathlib.Path(__file__).resolve().parents[3])


def _run(name, text, monkeypatch):
    monkeypatch.chdir(ROOT)
    examples = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    assert len(examples.examples) > 3
    failed, _ = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(examples)
    assert not failed


PAGES = [page for page in sorted((ROOT / "docs" / "src").glob("*.md")) if "```pycon" in page.read_text("utf-8")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_pages_of_the_book(page, monkeypatch):
    text = page.read_text(encoding="utf-8")
    _run(page.name, "\n".join(re.findall(r"```pycon\n(.*?)```", text, re.DOTALL)), monkeypatch)


def test_the_pages_are_found():
    assert {"python.md", "editing.md"} <= {page.name for page in PAGES}


def test_the_readmes(models, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for readme in (ROOT / "README.md", ROOT / "crates" / "snick-python" / "README.md"):
        for block in re.findall(r"```python\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL):
            model = snick.load(models / "focus_cnn" / "model.xml")
            model.save("model.xml")
            shape = [int(dim) if isinstance(dim, int) else 64 for dim in model.inputs[0].shape]
            exec(block, {"image": __import__("numpy").zeros(shape, "float32")})
