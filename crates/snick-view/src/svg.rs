//! Draws a scene as SVG for light and dark mode.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use snick_ir::text::Escaped;
use snick_ir::{Category, Graph};

use crate::layout::{self, Layout, Point, Size};
use crate::viewer::viewer_style;
use crate::{BoxKind, PictureOptions, Scene, SceneBox};

/// The width of a character, the height of a line, and the padding of a box.
const CHARACTER: f64 = 7.3;
const LINE: f64 = 15.0;
const PADDING: f64 = 8.0;

/// The space between the outputs of a box and the next layer.
const ARROW: f64 = 20.0;

/// Space around the picture.
const MARGIN: f64 = 16.0;

/// Maximum number of characters per line; the tooltip shows the whole line.
const LONGEST: usize = 40;

/// The height of the bar that shows the categories in a scope.
const SHARES: f64 = 4.0;

/// The style, with the variables of `viewer.css`. Not every program that shows SVG knows variables, so their
/// values are inserted. `&` stands for the picture, so that the rules do not match other elements of a page that contains
/// the picture.
const STYLE: &str = "\
&{background:var(--page);font:12px ui-monospace,Menlo,Consolas,monospace}& text{fill:var(--text)}\
& .box{fill-opacity:var(--tint)}& .title,& .head{font-weight:700}& .head{font-size:14px}\
& .name,& .detail,& .out{fill:var(--faint)}\
& .out{font-size:11px;paint-order:stroke;stroke:var(--page);stroke-width:3px}& .open{fill:var(--warning)}\
& .way{fill:none;stroke:var(--line)}& .tip{fill:var(--line)}";

/// The class of pictures.
const PICTURE: &str = "snick-picture";

/// The value of a variable of `viewer.css` in light or dark mode.
fn variable(name: &str, is_dark: bool) -> &'static str {
    // Each variable has a value for light mode first, and then one for dark mode.
    let value = viewer_style().split(&format!("--{name}: ")).nth(1 + usize::from(is_dark));
    value.and_then(|value| value.split(';').next()).unwrap_or_default()
}

/// The style for the light mode or the dark mode, for boxes of these colours.
fn style(colours: &BTreeSet<String>, is_dark: bool) -> String {
    let mut parts = STYLE.split("var(--");
    let mut style = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(')').unwrap_or((part, ""));
        style += variable(name, is_dark);
        style += rest;
    }
    for colour in colours {
        let value = variable(colour, is_dark);
        let _ = write!(style, "& .{colour}{{fill:{value};stroke:{value}}}");
    }
    (style + "& .share{stroke:none}").replace('&', &format!(".{PICTURE}"))
}

/// Draws a graph as SVG.
pub fn svg(graph: &Graph, options: &PictureOptions) -> String {
    let scene = Scene::new(graph, options);
    let mut panels = Vec::new();
    let mut waiting = vec![&scene];
    while let Some(scene) = waiting.pop() {
        waiting.extend(scene.bodies.iter().rev());
        panels.push(Panel::new(scene));
    }
    let width = panels.iter().map(Panel::width).fold(0.0, f64::max) + 2.0 * MARGIN;
    let height: f64 = panels.iter().map(Panel::height).sum::<f64>() + 2.0 * MARGIN;
    let boxes = || panels.iter().flat_map(|panel| &panel.scene.boxes);
    let colours = boxes().flat_map(|one| one.shares.iter().map(|(category, _)| category_colour(*category)));
    let colours = boxes().map(colour).chain(colours).collect();
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{PICTURE}\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{}\">\n<style>{}@media(prefers-color-scheme:dark){{{}}}</style>\n\
         <defs><marker id=\"snick-tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto\"><path class=\"tip\" d=\"M0 0 8 4 0 8z\"/></marker></defs>\n",
        Quoted(&scene.title),
        style(&colours, false),
        style(&colours, true)
    );
    let mut y = MARGIN;
    for panel in &panels {
        panel.draw(&mut out, MARGIN, y);
        y += panel.height();
    }
    out.push_str("</svg>\n");
    out
}

/// A graph or body with its layout.
struct Panel<'s> {
    scene: &'s Scene,
    sizes: Vec<Size>,
    layout: Layout,
}

impl<'s> Panel<'s> {
    fn new(scene: &'s Scene) -> Self {
        let sizes: Vec<Size> = scene.boxes.iter().map(size).collect();
        let layout = layout::place(&sizes, &scene.arrows);
        Self { scene, sizes, layout }
    }

    fn width(&self) -> f64 {
        self.layout.width.max(shortened(&self.scene.title).chars().count() as f64 * CHARACTER * 1.3)
    }

    fn height(&self) -> f64 {
        self.layout.height + 3.0 * LINE
    }

    fn draw(&self, out: &mut String, x: f64, y: f64) {
        let _ = writeln!(out, "<g transform=\"translate({x:.1} {y:.1})\">");
        text(out, "head", [0.0, LINE], &self.scene.title);
        let _ = writeln!(out, "<g transform=\"translate(0 {:.1})\">", 2.0 * LINE);
        for (arrow, way) in self.scene.arrows.iter().zip(&self.layout.ways) {
            let (from, to) = (self.layout.boxes[arrow.from], self.layout.boxes[arrow.to]);
            let start = Point { y: from.y + self.sizes[arrow.from].height, ..from };
            // The arrow goes straight down beside the outputs, and past the boxes of the same row.
            let outputs = self.scene.boxes[arrow.from].outputs.len() as f64;
            let y = (start.y + outputs * LINE).max(self.layout.row_bottoms[arrow.from]);
            let below = Point { y, ..start };
            let stops: Vec<Point> =
                [start, below].into_iter().chain(way.iter().copied()).chain([to]).collect();
            let _ =
                writeln!(out, "<path class=\"way\" marker-end=\"url(#snick-tip)\" d=\"{}\"/>", path(&stops));
        }
        for ((one, size), place) in self.scene.boxes.iter().zip(&self.sizes).zip(&self.layout.boxes) {
            draw_box(out, one, *size, *place);
        }
        out.push_str("</g></g>\n");
    }
}

/// The lines of text in a box, each with its CSS class.
fn lines(one: &SceneBox) -> impl Iterator<Item = (&'static str, String)> {
    // A layer is shown with the last scope around it.
    let start = one.name.rmatch_indices('/').nth(1).filter(|_| !one.is_scope);
    let name = start.map_or(one.name.as_str(), |(at, _)| &one.name[at + 1..]);
    let details = one.details.iter().map(|detail| ("detail", shortened(detail)));
    [("title", shortened(&one.title)), ("name", short_name(name))].into_iter().chain(details)
}

/// The number of characters of the longest line.
fn longest(lines: impl Iterator<Item = String>) -> f64 {
    lines.map(|line| line.chars().count()).max().unwrap_or_default() as f64
}

/// The width of the box itself.
fn inner_width(one: &SceneBox) -> f64 {
    longest(lines(one).map(|(_, line)| line)) * CHARACTER + 2.0 * PADDING
}

fn size(one: &SceneBox) -> Size {
    let widest = longest(one.outputs.iter().map(|output| shortened(&output.text)));
    Size {
        // Outputs are written below the box, to the right of its middle.
        width: inner_width(one).max(2.0 * (widest * CHARACTER + PADDING)),
        height: lines(one).count() as f64 * LINE + PADDING + if one.is_scope { SHARES } else { 0.0 },
        below: one.outputs.len() as f64 * LINE + ARROW,
    }
}

fn draw_box(out: &mut String, one: &SceneBox, size: Size, place: Point) {
    let width = inner_width(one);
    let left = place.x - width / 2.0;
    let round = if matches!(one.kind, BoxKind::Input | BoxKind::Output) { 10 } else { 3 };
    let _ = write!(out, "<g><title>{} {}", Quoted(&one.title), Quoted(&one.name));
    for constant in &one.constants {
        let _ = write!(out, "\n{}", Quoted(constant));
    }
    let _ = writeln!(
        out,
        "</title><rect class=\"box {}\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\" rx=\"{round}\"/>",
        colour(one),
        place.y,
        size.height
    );
    draw_shares(out, one, left + 1.0, place.y + size.height - SHARES - 1.0);
    for (at, (class, line)) in lines(one).enumerate() {
        text(out, class, [left + PADDING, place.y + LINE * (at as f64 + 1.0) - 1.0], &line);
    }
    for (at, output) in one.outputs.iter().enumerate() {
        let class = if output.is_bounded { "out" } else { "out open" };
        let y = place.y + size.height + LINE * (at as f64 + 1.0) - 2.0;
        text(out, class, [place.x + PADDING, y], &output.text);
    }
    out.push_str("</g>\n");
}

/// The class of a box, which is the name of its colour in `viewer.css`.
fn colour(one: &SceneBox) -> String {
    match (one.kind, one.shares.as_slice()) {
        (BoxKind::Failed, _) => "error".to_owned(),
        (BoxKind::Scope, _) => "scope".to_owned(),
        (_, [(category, _)]) => category_colour(*category),
        _ => "source".to_owned(),
    }
}

fn category_colour(category: Category) -> String {
    format!("category-{}", category.name())
}

/// Shows the categories in a scope as parts of a bar.
fn draw_shares(out: &mut String, one: &SceneBox, mut x: f64, y: f64) {
    if !one.is_scope {
        return;
    }
    let total: usize = one.shares.iter().map(|(_, count)| count).sum();
    for (category, count) in &one.shares {
        let width = (inner_width(one) - 2.0) * *count as f64 / total as f64;
        let _ = writeln!(
            out,
            "<path class=\"share {}\" d=\"M{x:.1} {y:.1}h{width:.1}v{SHARES}h-{width:.1}z\"/>",
            category_colour(*category)
        );
        x += width;
    }
}

fn text(out: &mut String, class: &str, [x, y]: [f64; 2], text: &str) {
    let _ = writeln!(
        out,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
        Quoted(&shortened(text))
    );
}

/// A path through all points, which is straight within lanes and curved between them.
fn path(stops: &[Point]) -> String {
    let mut path = String::new();
    for (at, point) in stops.iter().enumerate() {
        let Point { x, y } = *point;
        let _ = match at.checked_sub(1).map(|before| stops[before]) {
            None => write!(path, "M{x:.1} {y:.1}"),
            Some(before) if (before.x - x).abs() < 0.05 => write!(path, "V{y:.1}"),
            Some(before) => {
                let middle = (before.y + y) / 2.0;
                write!(path, "C{:.1} {middle:.1} {x:.1} {middle:.1} {x:.1} {y:.1}", before.x)
            }
        };
    }
    path
}

/// Shortens a name to [`LONGEST`] characters by dropping its start, or the starts of both ends of a range.
fn short_name(name: &str) -> String {
    if name.chars().count() <= LONGEST {
        return name.to_owned();
    }
    let cut = |end: &str, most: usize| match end.chars().count() {
        count if count > most => {
            format!("…{}", end.chars().skip(count - (most - 1)).collect::<String>())
        }
        _ => end.to_owned(),
    };
    match (name.split_once(" … "), name.rsplit_once(" … ")) {
        (Some((first, _)), Some((_, last))) => {
            format!("{} … {}", cut(first, LONGEST / 2 - 2), cut(last, LONGEST / 2 - 2))
        }
        _ => cut(name, LONGEST),
    }
}

/// Shortens a line to [`LONGEST`] characters by dropping its middle.
fn shortened(line: &str) -> String {
    let count = line.chars().count();
    if count <= LONGEST {
        return line.to_owned();
    }
    let half = LONGEST / 2;
    let begin: String = line.chars().take(half).collect();
    let end: String = line.chars().skip(count - half + 1).collect();
    format!("{begin}…{end}")
}

/// A text from a model, escaped for elements and attributes.
pub(crate) struct Quoted<'t>(pub &'t str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in Escaped(self.0).to_string().chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}
