//! Custom ops defined only by their shapes, without Rust code.

use std::collections::BTreeMap;
use std::sync::Arc;

use snick_shape::{ExprErrorKind, Interval, Origin, Shape, ShapeError, SymExpr, SymbolId, Symbols};
use snick_tensor::ElementType;

use super::{CustomOp, RawNode, Registry};
use crate::{Arity, AttrValue, Attrs, Fact, Facts, Infer, OpError};

/// The shapes of an op: named dims of inputs, and output dims as expressions of dim names and attributes.
///
/// ```
/// use snick::{infer, text, Registry, ShapeRule};
///
/// let mut registry = Registry::builtin();
/// let rule = ShapeRule::new().attribute("by", 1).input("...,W")?.output("...,W+2*by", None)?;
/// registry.register_shapes("my.ops", "FancyPad", rule);
/// let text = r#"snick 1
/// graph "pad" {
///   %x = Parameter-1 {element_type: f32, shape: "N,6"}
///   %p = FancyPad-"my.ops"(%x) {by: 2}
///   %y = Result-1(%p)
/// }
/// "#;
/// let mut graph = text::parse_with(text, None, &registry)?;
/// assert!(infer(&mut graph).is_empty());
/// let fact = graph.node(graph.find("p").unwrap()).outputs().next().unwrap();
/// assert_eq!(fact.shape().display(graph.symbols()).to_string(), "[N,10]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ShapeRule {
    attributes: BTreeMap<String, i64>,
    inputs: Vec<DimPattern<String>>,
    outputs: Vec<(DimPattern<String>, Option<ElementType>)>,
}

/// A list of dims; `...` at the start of the list stands for any leading dims.
#[derive(Clone, Debug)]
struct DimPattern<T> {
    has_more: bool,
    dims: Vec<T>,
}

impl DimPattern<String> {
    /// Splits at commas outside parentheses.
    fn parse(text: &str) -> Self {
        let mut depth = 0usize;
        let items = text.split(|c: char| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ',' && depth == 0
        });
        let mut dims: Vec<String> = items.map(|item| item.trim().to_string()).collect();
        if dims == [""] {
            dims.clear();
        }
        let has_more = dims.first().is_some_and(|first| first == "...");
        dims.drain(..usize::from(has_more));
        Self { has_more, dims }
    }

    fn try_map<T>(&self, item: impl FnMut(&String) -> Result<T, OpError>) -> Result<DimPattern<T>, OpError> {
        Ok(DimPattern {
            has_more: self.has_more,
            dims: self.dims.iter().map(item).collect::<Result<_, _>>()?,
        })
    }
}

impl ShapeRule {
    /// An op without inputs, outputs or attributes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an integer attribute and its default. Attributes must be added before inputs and outputs.
    #[must_use]
    pub fn attribute(mut self, name: &str, default: i64) -> Self {
        self.attributes.insert(name.to_string(), default);
        self
    }

    /// Adds an input by its dims: names as in `N,C,H,W`, numbers, and `_` or `?` for any size. `...,W`
    /// matches one or more dims. Dims with the same name must be equal.
    ///
    /// # Errors
    /// If a dim is neither a name, a number, `_` nor `?`, or has the name of an attribute.
    pub fn input(mut self, dims: &str) -> Result<Self, OpError> {
        self.inputs.push(DimPattern::parse(dims));
        Equations::of(&self, &self.attributes).map(|_| self)
    }

    /// Adds an output. Its dims are expressions of dim names and attributes, and `...` stands for the leading
    /// dims of the first input with `...`. The element type defaults to the type of the first input.
    ///
    /// # Errors
    /// If an expression cannot be parsed, with the position of the error.
    pub fn output(mut self, dims: &str, element_type: Option<ElementType>) -> Result<Self, OpError> {
        let dims = DimPattern::parse(dims);
        if dims.has_more && !self.inputs.iter().any(|input| input.has_more) {
            return Err(bad_dim("output", "...", "no input has `...`"));
        }
        self.outputs.push((dims, element_type));
        Equations::of(&self, &self.attributes).map(|_| self)
    }
}

/// A declared dim of an input.
#[derive(Copy, Clone, Debug)]
enum InputDim {
    Any,
    Size(u32),
    Named(SymbolId),
}

/// The maximum length of a dim quoted in full in messages, in characters.
const QUOTED: usize = 40;

/// The error for a dim of an input or an output (`end`).
fn bad_dim(end: &str, dim: &str, fault: impl Into<String>) -> OpError {
    let mut quoted: String = dim.chars().take(QUOTED).collect();
    if quoted.len() < dim.len() {
        quoted.push_str("...");
    }
    OpError::DeclaredDim { dim: format!("{end} dim `{quoted}`"), fault: fault.into() }
}

/// The expressions of a rule for given attribute values.
#[derive(Clone, Debug)]
struct Equations {
    /// The names of dims and attributes.
    symbols: Symbols,
    inputs: Vec<DimPattern<InputDim>>,
    outputs: Vec<(DimPattern<SymExpr>, Option<ElementType>)>,
}

impl Equations {
    fn of(rule: &ShapeRule, values: &BTreeMap<String, i64>) -> Result<Self, OpError> {
        let mut symbols = Symbols::default();
        for (name, value) in values {
            symbols.named(name, Interval::exact(*value), Origin::default()).map_err(ShapeError::from)?;
        }
        let mut input = |name: &String| {
            if matches!(name.as_str(), "_" | "?") {
                return Ok(InputDim::Any);
            }
            if let Ok(size) = name.parse() {
                return Ok(InputDim::Size(size));
            }
            if values.contains_key(name) {
                return Err(bad_dim("input", name, "an attribute has this name"));
            }
            let dim = symbols.parse_or_declare(name, Interval::DIM, Origin::default()).ok();
            let symbol = dim.and_then(|dim| dim.as_symbol()).map(InputDim::Named);
            symbol.ok_or_else(|| bad_dim("input", name, "expected a name, a number, `_` or `?`"))
        };
        let inputs = rule.inputs.iter().map(|dims| dims.try_map(&mut input)).collect::<Result<_, _>>()?;
        let output = |text: &String| {
            symbols.parse(text).map_err(|error| {
                let fault = match error.kind {
                    ExprErrorKind::UnknownSymbol(name) => {
                        format!("no input dim or attribute is named `{name}`")
                    }
                    kind => kind.to_string(),
                };
                bad_dim("output", text, fault)
            })
        };
        let outputs =
            rule.outputs.iter().map(|(dims, element_type)| Ok((dims.try_map(output)?, *element_type)));
        let outputs = outputs.collect::<Result<_, OpError>>()?;
        Ok(Self { symbols, inputs, outputs })
    }

    /// Binds names to the dims of a layer, and `...` to the leading dims of the first input that has it.
    fn bind(&self, values: &BTreeMap<String, i64>, cx: &mut Infer) -> Result<Option<Bound>, OpError> {
        let mut bound = Bound::default();
        for (name, value) in values {
            bound.names.extend(self.symbols.find(name).map(|symbol| (symbol, SymExpr::from(*value))));
        }
        for (port, input) in self.inputs.iter().enumerate() {
            let Some(dims) = cx.shape(port).dims() else { return Ok(None) };
            let (least, has_more) = (input.dims.len(), input.has_more);
            let expected = if has_more { format!("{least} or more") } else { least.to_string() };
            cx.expect_rank(port, &expected, |rank| rank == least || (has_more && rank > least))?;
            let (leading, named) = dims.split_at(dims.len() - least);
            if has_more && bound.leading.is_none() {
                bound.leading = Some(leading.to_vec());
            }
            for (expected, dim) in input.dims.iter().zip(named) {
                let symbol = match *expected {
                    InputDim::Any => continue,
                    InputDim::Size(size) => {
                        let what = format!("a dim of input {port} and its declared size");
                        cx.merge_or_report(&what, dim, &i64::from(size).into());
                        continue;
                    }
                    InputDim::Named(symbol) => symbol,
                };
                let dim = match bound.names.get(&symbol) {
                    None => dim.clone(),
                    Some(first) => {
                        let name = self.symbols.name(symbol).unwrap_or_default();
                        cx.merge_or_report(&format!("dim `{name}`"), &first.clone(), dim)
                    }
                };
                bound.names.insert(symbol, dim);
            }
        }
        Ok(Some(bound))
    }
}

/// The names of a rule bound to dims of one layer.
#[derive(Default)]
struct Bound {
    names: BTreeMap<SymbolId, SymExpr>,
    leading: Option<Vec<SymExpr>>,
}

/// A layer of an op that is defined only by its shapes.
#[derive(Clone, Debug)]
struct ShapesOnly {
    equations: Equations,
    /// The attributes of the layer.
    attrs: Attrs<'static>,
    /// The values of the declared attributes.
    values: BTreeMap<String, i64>,
}

impl ShapesOnly {
    fn of(rule: &ShapeRule, raw: &RawNode<'_>) -> Result<Self, OpError> {
        let mut values = rule.attributes.clone();
        for (name, value) in &mut values {
            let given = match raw.attrs.get(name) {
                None => continue,
                Some(AttrValue::Int(int)) => Some(*int),
                Some(AttrValue::Text(text)) => text.trim().parse().ok(),
                Some(_) => None,
            };
            let wrong = || {
                let got = raw.attrs.get(name).map_or(String::new(), |value| format!("\"{value}\""));
                OpError::mismatch(format!("attribute `{name}`"), got, "an integer")
            };
            *value = given.ok_or_else(wrong)?;
        }
        // The op itself keeps the attributes that the rule does not declare, so mark them as read.
        for (name, _) in raw.attrs.iter() {
            raw.attrs.get(name);
        }
        let equations = Equations::of(rule, &values)?;
        Ok(Self { equations, attrs: raw.attrs.clone().into_owned(), values })
    }
}

impl CustomOp for ShapesOnly {
    fn arity(&self) -> Arity {
        Arity::exactly(self.equations.inputs.len())
    }

    fn attrs(&self) -> Attrs<'static> {
        self.attrs.clone()
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<Facts, OpError> {
        let bound = self.equations.bind(&self.values, cx)?;
        let first = cx.optional(0).map_or(ElementType::Dynamic, Fact::element_type);
        let mut facts = Facts::new();
        for (dims, element_type) in &self.equations.outputs {
            let shape = match &bound {
                None => Shape::unranked(),
                Some(bound) => {
                    let mut sizes = match dims.has_more {
                        true => bound.leading.clone().unwrap_or_default(),
                        false => Vec::new(),
                    };
                    for dim in &dims.dims {
                        let size = cx.symbols().substitute(dim, &|symbol| bound.names.get(&symbol).cloned());
                        let size = size.and_then(|size| cx.as_dim(&size));
                        sizes.push(size.unwrap_or_else(|| cx.unknown(Interval::DIM)));
                    }
                    Shape::ranked(sizes)
                }
            };
            facts.push(Fact::new(element_type.unwrap_or(first), shape));
        }
        Ok(facts)
    }
}

impl Registry {
    /// Adds an op that is defined only by its shapes. It is inferred and kept, but cannot run.
    pub fn register_shapes(
        &mut self,
        opset: impl Into<String>,
        op_type: impl Into<String>,
        rule: ShapeRule,
    ) -> &mut Self {
        self.register(opset, op_type, move |raw| Ok(Arc::new(ShapesOnly::of(&rule, raw)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{infer, text};

    fn shapes(rule: ShapeRule, layers: &str) -> (String, Vec<String>) {
        let mut registry = Registry::builtin();
        registry.register_shapes("my", "Op", rule);
        let text = format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n");
        let mut graph = text::parse_with(&text, None, &registry).unwrap();
        let errors = infer(&mut graph).iter().map(|error| error.error.to_string()).collect();
        let node = graph.node(graph.find("o").unwrap());
        let shapes: Vec<String> = node
            .outputs()
            .map(|fact| format!("{}{}", fact.element_type, fact.shape.display(graph.symbols())))
            .collect();
        (shapes.join(" "), errors)
    }

    const X: &str = "%x = Parameter-1 {element_type: f32, shape: \"N,3,H\"}\n";

    #[test]
    fn dims_are_expressions_of_names() {
        let rule = ShapeRule::new().attribute("block", 2).input("N,C,H").unwrap();
        assert!(rule.clone().output("...", None).is_err(), "`...` needs an input that has it");
        let rule = rule.output("N, C*block, max(H/block, 1)", Some(ElementType::I64)).unwrap();
        let (got, errors) = shapes(rule, &format!("{X}%o = Op-my(%x) {{block: 4}}"));
        assert_eq!((got.as_str(), errors.len()), ("i64[N,12,max(H/4,1)]", 0));
    }

    #[test]
    fn equal_names_are_equal_dims() {
        let rule = || ShapeRule::new().input("...,K").unwrap().input("K,M").unwrap();
        let rule = || rule().output("...,M", None).unwrap();
        let layers = |shape| {
            format!("{X}%y = Parameter-1 {{element_type: f32, shape: \"{shape}\"}}\n%o = Op-my(%x, %y)")
        };
        assert_eq!(shapes(rule(), &layers("H,5")), ("f32[N,3,5]".to_string(), vec![]));
        let unequal = X.replace("N,3,H", "N,3,4");
        let (_, errors) = shapes(rule(), &layers("7,5").replace(X, &unequal));
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].contains("dim `K`"), "{errors:?}");
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        let rule = || ShapeRule::new().input("N").unwrap();
        assert!(
            rule()
                .output("M", None)
                .unwrap_err()
                .to_string()
                .contains("no input dim or attribute is named `M`")
        );
        assert!(rule().output("N+", None).is_err());
        assert!(ShapeRule::new().input("N+1").is_err());
        let mut registry = Registry::builtin();
        registry.register_shapes("my", "Op", rule().attribute("by", 1));
        let text = format!("snick 1\ngraph \"g\" {{\n{X}%o = Op-my(%x) {{by: \"two\"}}\n}}\n");
        assert!(text::parse_with(&text, None, &registry).unwrap_err().message.contains("`by`"));
    }
}
