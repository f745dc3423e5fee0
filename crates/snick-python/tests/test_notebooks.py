"""What notebooks show: compact tables that leave other cells alone."""

import html.parser
import re

import numpy as np

import snick


class _Page(html.parser.HTMLParser):
    """The elements of a page, and its style rules."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.texts = []
        self.open = []
        self.feed(text)
        self.close()
        # Every element is closed.
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((tuple(self.open), data))

    def count(self, tag):
        return sum(1 for name, _ in self.elements if name == tag)

    def selectors(self):
        rules = "".join(text for tags, text in self.texts if tags[-1:] == ("style",))
        rules = re.sub(r"@media\s*\([^)]*\)\s*\{((?:[^{}]*\{[^{}]*\})*)\}", r"\1", rules)
        return [one for group in re.findall(r"([^{}]+)\{[^{}]*\}", rules) for one in group.split(",")]

    def text(self):
        return " ".join(text for tags, text in self.texts if "style" not in tags and "svg" not in tags)


def _chain(count):
    lines = ['  %x = Parameter-1 {element_type: f32, shape: "N"}', "  %r0 = ReLU-1(%x)"]
    lines += [f"  %r{at} = ReLU-1(%r{at - 1})" for at in range(1, count - 2)]
    return "\n".join([*lines, f"  %y = Result-1(%r{count - 3})"])


def _answers(model):
    layer = model.layers[1]
    empty = {"x": np.zeros(1, np.float32)}
    assert model.run(empty)
    return [
        model,
        model.infer(),
        model.layers,
        layer,
        model.inputs,
        model.inputs[0].symbols,
        model.why("y:0:0"),
        model.why(unknown=True),
        model.check(),
        model.cost(),
        snick.diff(model, model),
        snick.diff(model, snick.parse('snick 1\ngraph "g" {\n}\n')),
        model.copy().canonicalise(),
    ]


def test_styles_only_match_our_elements(graph, models):
    if_model = snick.load(models / "subgraphs_if")
    bodies = [body for layer in if_model.layers for body in layer.bodies]
    for answer in [*_answers(graph(_chain(5))), *_answers(graph(_chain(400))), *bodies, if_model]:
        page = _Page(answer._repr_html_())
        # A rule begins with our class, and only pictures have rules.
        assert all(one.strip().startswith(".snick-picture") for one in page.selectors())
        assert (page.count("style"), bool(page.selectors())) == (page.count("svg"), page.count("svg") > 0)
        assert not {"script", "link", "body", "html", "iframe"} & {tag for tag, _ in page.elements}
        for tag, attributes in page.elements:
            assert not [name for name in attributes if name.startswith("on")]
            assert attributes.get("id", "snick-").startswith("snick-")
            assert not attributes.get("class") or "svg" in tag or page.count("svg")
            assert "position" not in attributes.get("style", "")


def test_rows_are_limited_and_the_others_are_counted(graph):
    model = graph(_chain(4000))
    page = _Page(model.layers._repr_html_())
    assert page.count("tr") == 31 and "3970 more rows are left out" in page.text()
    small = graph(_chain(30))
    assert _Page(small.layers._repr_html_()).count("tr") == 31 and "left out" not in small.layers._repr_html_()
    many = graph("\n".join(f'  %x{at} = Parameter-1 {{element_type: f32, shape: "2"}}' for at in range(31)))
    for answer in (many.inputs, many.check()):
        page = _Page(answer._repr_html_())
        assert page.count("tr") == 31 and "1 more row is left out" in page.text()
    assert all(len(answer._repr_html_()) < 40_000 for answer in [*_answers(model), many])
    names = [f'  %"{"n" * 10_000}{at}" = Parameter-1 {{element_type: f32, shape: "2"}}' for at in range(30)]
    assert len(graph("\n".join(names)).layers._repr_html_()) < 20_000


def test_lines_and_nodes_are_limited(graph):
    rank = 120
    dims = ",".join(f"N{at}" for at in range(rank))
    model = graph(f'  %x = Parameter-1 {{element_type: f32, shape: "{dims}"}}\n  %y = Result-1(%x)')
    page = _Page(model.why("x")._repr_html_())
    assert page.count("li") == 100 and f"{rank - 100} more nodes are left out" in page.text()
    slices = ['  %x = Parameter-1 {element_type: f32, shape: "99"}', "  %one = Const-1 i64[1] <1>", "  %end = Const-1 i64[1] <98>"]
    slices += [f"  %s{at} = Slice-8(%x, %one, %end, %one)\n  %y{at} = Result-1(%s{at})" for at in range(60)]
    report = graph("\n".join(slices)).canonicalise()
    text = _Page(report._repr_html_()).text()
    assert len(str(report).splitlines()) > 60
    assert f"{len(str(report).splitlines()) - 30} more lines are left out" in text


def test_a_sentence_replaces_a_large_picture(graph):
    small, large = graph(_chain(300)), graph(_chain(301))
    assert _Page(small._repr_html_()).count("svg") == 1
    page = _Page(large._repr_html_())
    assert page.count("svg") == 0 and "The picture is left out" in page.text() and "301 layers" in page.text()


def test_columns_are_monospaced_except_sentences(graph):
    model = graph(_chain(5))
    page = _Page(model.layers._repr_html_())
    cells = [attributes["style"] for tag, attributes in page.elements if tag in ("td", "th")]
    assert len(cells) == 6 * 6 and all("font-family:monospace" in style for style in cells)
    findings = [attributes["style"] for tag, attributes in _Page(model.check()._repr_html_()).elements if tag == "td"]
    assert ["monospace" in style for style in findings[:7]] == [True] * 5 + [False] * 2
    page = _Page(model.cost()._repr_html_())
    assert ("pre", {"style": "font-family:monospace"}) in page.elements
