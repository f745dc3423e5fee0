//! A recursive descent parser for the text form, with a function for each rule of the grammar.

mod constant;

use std::collections::{HashMap, HashSet};

use snick_tensor::{ElementType, Storage};

use super::lexer::{Lexer, ParseError, Token};
use super::{OPAQUE, TENSOR};
use crate::graph::Details;
use crate::ops;
use crate::ops::source::constant::Constant;
use crate::{
    AttrValue, Attrs, Declared, Dialect, Graph, IR_VERSIONS, Info, Monitor, Node, NodeId, Op, OpError,
    Output, PortIds, RawNode, Registry, Value, Version,
};

/// The maximum nesting of bodies. XML files cannot exceed it, because XML elements nest at most 256 levels.
const MAX_BODIES: usize = 128;

/// The maximum nesting of any syntax. This limit and `MAX_BODIES` protect the stack, so unlike
/// `Limits::nesting` they are constants.
const MAX_DEPTH: usize = 300;

type Parsed<T> = Result<T, ParseError>;

/// Parses the text form. `weights` is the content of the `.bin` next to the text; without it, constants
/// stored there are absent. Does not infer facts.
pub fn parse(text: &str, weights: Option<&Storage>) -> Parsed<Graph> {
    parse_with(text, weights, &Registry::builtin())
}

/// Like [`parse`], with registered ops.
///
/// # Errors
/// Same as [`parse`].
pub fn parse_with(text: &str, weights: Option<&Storage>, ops: &Registry) -> Parsed<Graph> {
    parse_watched(text, weights, ops, &mut Monitor::default())
}

/// Like [`parse_with`], with a monitor; an error if the monitor stops parsing.
///
/// # Errors
/// Same as [`parse`].
pub fn parse_watched(
    text: &str,
    weights: Option<&Storage>,
    ops: &Registry,
    monitor: &mut Monitor,
) -> Parsed<Graph> {
    let mut parser = Parser { lexer: Lexer::new(text), weights, ops, depth: 0, layers: 0, monitor };
    parser.word("snick")?;
    parser.lexer.expect("version 1 of the text form", |token| match token {
        Token::Number(n) if n == "1" => Some(()),
        _ => None,
    })?;
    let graph = parser.graph()?;
    match parser.lexer.peek()? {
        Token::End => Ok(graph),
        _ => Err(parser.lexer.error("the end")),
    }
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    weights: Option<&'t Storage>,
    ops: &'t Registry,
    depth: usize,
    layers: usize,
    monitor: &'t mut Monitor,
}

/// Nodes by name and occurrence.
type Scope = HashMap<(String, usize), NodeId>;

impl<'t> Parser<'t> {
    fn graph(&mut self) -> Parsed<Graph> {
        self.nested(MAX_BODIES, |parser| {
            parser.word("graph")?;
            let mut graph = Graph::new(parser.text()?);
            parser.mark('{')?;
            let mut scope = Scope::new();
            loop {
                match parser.lexer.peek()? {
                    Token::Mark('}') => break,
                    Token::Word(w) if w == "ir" => {
                        parser.lexer.next()?;
                        graph.ir_version = Some(parser.ir_version()?);
                    }
                    Token::Word(w) if w == "info" => {
                        parser.lexer.next()?;
                        graph.info.push(parser.info()?);
                    }
                    _ => parser.node(&mut graph, &mut scope)?,
                }
            }
            parser.mark('}')?;
            Ok(graph)
        })
    }

    /// `%name = Type-opset(inputs) {attributes} : types "names" ...`
    fn node(&mut self, graph: &mut Graph, scope: &mut Scope) -> Parsed<()> {
        let loc = self.lexer.loc();
        let (name, nth) = self.lexer.expect("`%name = ...`", |token| match token {
            Token::Value { name, nth, .. } => Some((name, nth)),
            _ => None,
        })?;
        self.mark('=')?;
        let (op_type, dialect, version, is_opaque) = self.op_type()?;
        let constant =
            !is_opaque && dialect == Dialect::OpenVino && matches!(op_type.as_str(), "Const" | "Constant");
        let inputs: Vec<Option<Value>> = match self.eat('(')? {
            true => self.list(')', |parser| parser.value(scope))?,
            false => Vec::new(),
        };
        let (mut attrs, mut op): (Attrs<'static>, _) = (Attrs::new(), None);
        let at_type = |e: OpError| ParseError { loc, message: format!("{op_type}: {e}") };
        if constant {
            let name = ops::find(dialect, &op_type).map(|entry| entry.name);
            name.map_or(Ok(()), |name| name.check(&version)).map_err(at_type)?;
            if name.is_some_and(|name| name.defining_opset(&version).is_none()) {
                let message =
                    format!("{op_type} of `{version}` is not an operation; write `opaque {op_type}-...`");
                return Err(ParseError { loc, message });
            }
            op = Some(Op::Const(self.constant()?));
        } else {
            attrs = self.attrs()?;
        }
        let outs = self.outputs()?;
        let details = self.details()?;
        let mut bodies = Vec::new();
        while let Token::Word(w) = self.lexer.peek()?
            && w.ends_with("body")
        {
            self.lexer.next()?;
            bodies.push(self.graph()?);
        }
        let op = match op {
            Some(op) => op,
            None if is_opaque => Op::opaque(&op_type, attrs),
            None => {
                let mut raw =
                    RawNode::openvino(&op_type, version.clone(), attrs, outs.as_ref().map_or(0, Vec::len));
                raw.dialect = dialect;
                *raw.bodies.get_mut() = bodies;
                self.ops.parse(&mut raw).map_err(at_type)?
            }
        };
        let outs = outs.unwrap_or_else(|| if op.is_opaque() { vec![] } else { vec![Output::unknown()] });
        self.layers += 1;
        if !self.monitor.read_layer(self.layers, &name) {
            return Err(ParseError { loc, message: "parsing was stopped".into() });
        }
        let mut node = Node::new(name.as_str(), op);
        (node.version, node.outs, node.loc) = (version, outs.into(), loc);
        if details != Details::default() {
            node.details = Some(Box::new(details));
        }
        let id = graph.add(node);
        for (port, input) in (0..).zip(inputs) {
            let Some(value) = input else { continue };
            graph.connect_new(value, id, port).map_err(|e| ParseError { loc, message: e.to_string() })?;
        }
        if scope.insert((name.clone(), nth), id).is_some() {
            return Err(ParseError { loc, message: format!("%{name} is already defined; write %{name}~2") });
        }
        Ok(())
    }

    /// Rare details after the outputs of a layer, each introduced by a keyword.
    fn details(&mut self) -> Parsed<Details> {
        let mut details = Details::default();
        loop {
            match self.lexer.peek()? {
                Token::Word(w) if w == "outputs" => {
                    self.lexer.next()?;
                    details.output_ids = Some(self.ids()?);
                }
                Token::Word(w) if w == "inputs" => {
                    self.lexer.next()?;
                    details.input_ids = Some(self.ids()?);
                }
                Token::Word(w) if w == "extra" => {
                    self.lexer.next()?;
                    details.extra = self.attrs()?;
                }
                Token::Word(w) if w == "info" => {
                    self.lexer.next()?;
                    details.info.push(self.info()?);
                }
                _ => return Ok(details),
            }
        }
    }

    /// The operation type and set, and whether the word `opaque` marks the layer as opaque although an op has
    /// this name.
    fn op_type(&mut self) -> Parsed<(String, Dialect, Version, bool)> {
        let word = |parser: &mut Self| {
            parser.lexer.expect("an operation type", |token| match token {
                Token::Word(w) | Token::Text(w) => Some(w),
                _ => None,
            })
        };
        let mut name = word(self)?;
        let is_opaque = name == OPAQUE && matches!(self.lexer.peek()?, Token::Word(_) | Token::Text(_));
        if is_opaque {
            name = word(self)?;
        }
        let version = match self.lexer.peek()? {
            Token::Number(n) => {
                self.lexer.next()?;
                let text = n.trim_start_matches('-');
                match text.parse() {
                    _ if text == "_" => Version::Unversioned,
                    Ok(opset) => Version::Opset(opset),
                    Err(_) if text.is_empty() => Version::Custom(self.text()?.into()),
                    Err(_) => Version::Custom(text.into()),
                }
            }
            _ => {
                if ops::find(Dialect::Snick, &name).is_none() {
                    return Err(self.lexer.error("`-` and the operation set"));
                }
                return Ok((name, Dialect::Snick, Version::Unversioned, is_opaque));
            }
        };
        Ok((name, Dialect::OpenVino, version, is_opaque))
    }

    /// `: f32[1,2] "a" "b"`, or several of these in parentheses, where `_` is a port without a declared type;
    /// `None` if omitted.
    fn outputs(&mut self) -> Parsed<Option<Vec<Output>>> {
        if !self.eat(':')? {
            return Ok(None);
        }
        if self.eat('(')? {
            return self.list(')', Self::output).map(Some);
        }
        Ok(Some(vec![self.output()?]))
    }

    fn output(&mut self) -> Parsed<Output> {
        let mut out = Output::unknown();
        match self.lexer.peek()? {
            Token::Word(w) if w == "_" => drop(self.lexer.next()?),
            _ => {
                let element_type = self.element_type()?;
                let text = self.lexer.brackets()?.trim();
                let dims =
                    (text != "...").then(|| split_dims(text).map(|t| t.parse().unwrap_or(-1)).collect());
                out.declared = Some(Declared { element_type, dims });
            }
        }
        while let Token::Text(name) = self.lexer.peek()? {
            self.lexer.next()?;
            out.names.push(name);
        }
        Ok(out)
    }

    fn element_type(&mut self) -> Parsed<ElementType> {
        let loc = self.lexer.loc();
        let w = self.lexer.expect("an element type", |token| match token {
            Token::Word(w) => Some(w),
            _ => None,
        })?;
        w.parse().map_err(|_| ParseError { loc, message: format!("`{w}` is not an element type") })
    }

    /// `{name: value, ...}`, or nothing.
    fn attrs(&mut self) -> Parsed<Attrs<'static>> {
        let mut attrs = Attrs::new();
        let loc = self.lexer.loc();
        let mut names = HashSet::new();
        if self.eat('{')? {
            for (name, value) in self.list('}', |parser| {
                let name = parser.text()?;
                parser.mark(':')?;
                Ok((name, parser.attr_value()?))
            })? {
                if !names.insert(name.clone()) {
                    return Err(ParseError { loc, message: format!("attribute `{name}` is given twice") });
                }
                attrs.push(name.into(), value);
            }
        }
        Ok(attrs)
    }

    fn attr_value(&mut self) -> Parsed<AttrValue<'static>> {
        let loc = self.lexer.loc();
        let fail = |message: &str| ParseError { loc, message: message.into() };
        match self.lexer.next()? {
            Token::Word(w) if w == "true" => Ok(AttrValue::Bool(true)),
            Token::Word(w) if w == "false" => Ok(AttrValue::Bool(false)),
            Token::Word(w) if matches!(w.as_str(), "inf" | "NaN") => {
                number(&w).ok_or_else(|| fail("not a number"))
            }
            Token::Word(w) if w == TENSOR && matches!(self.lexer.peek()?, Token::Word(_)) => {
                match self.constant()? {
                    Constant::Here(tensor) => Ok(AttrValue::Tensor(tensor)),
                    Constant::Absent(_) => Err(fail("the weights of the tensor are missing")),
                }
            }
            Token::Word(w) | Token::Text(w) => Ok(AttrValue::Text(w.into())),
            Token::Number(n) => number(&n).ok_or_else(|| fail("not a number")),
            Token::Mark('[') => {
                let items = self.list(']', Self::attr_value)?;
                let ints = items.iter().map(|item| match item {
                    AttrValue::Int(v) => Some(*v),
                    _ => None,
                });
                if let Some(ints) = ints.collect() {
                    return Ok(AttrValue::Ints(ints));
                }
                let floats = items.iter().map(|item| match item {
                    AttrValue::Float(v) => Some(*v),
                    AttrValue::Int(v) => Some(*v as f64),
                    _ => None,
                });
                if let Some(floats) = floats.collect() {
                    return Ok(AttrValue::Floats(floats));
                }
                let texts = items.into_iter().map(|item| match item {
                    AttrValue::Text(t) => Some(t.into_owned()),
                    _ => None,
                });
                texts
                    .collect::<Option<_>>()
                    .map(AttrValue::Texts)
                    .ok_or_else(|| fail("list items have different types"))
            }
            _ => Err(fail("expected an attribute value")),
        }
    }

    /// `name(a="1") "text" { children }`
    fn info(&mut self) -> Parsed<Info> {
        self.nested(MAX_DEPTH, |parser| {
            let mut info = Info { name: parser.text()?, ..Info::default() };
            if parser.eat('(')? {
                info.attrs = parser.list(')', |parser| {
                    let name = parser.text()?;
                    parser.mark('=')?;
                    Ok((name, parser.text()?))
                })?;
            }
            if let Token::Text(text) = parser.lexer.peek()? {
                parser.lexer.next()?;
                info.text = text;
            }
            if parser.eat('{')? {
                while !parser.eat('}')? {
                    info.children.push(parser.info()?);
                }
            }
            Ok(info)
        })
    }

    fn ids(&mut self) -> Parsed<PortIds> {
        let text = self.lexer.brackets()?;
        let ids: Option<Vec<u32>> = split_dims(text).map(|t| t.parse().ok()).collect();
        ids.map(|ids| PortIds::new(&ids)).ok_or_else(|| self.lexer.error("port numbers"))
    }

    /// `%name:port`, or `_` for an unconnected input.
    fn value(&mut self, scope: &Scope) -> Parsed<Option<Value>> {
        let loc = self.lexer.loc();
        match self.lexer.next()? {
            Token::Word(w) if w == "_" => Ok(None),
            Token::Value { name, nth, port } => match scope.get(&(name.clone(), nth)) {
                Some(&node) => Ok(Some(Value { node, port })),
                None => Err(ParseError { loc, message: format!("%{name} is not defined before this line") }),
            },
            _ => Err(self.lexer.error("a value")),
        }
    }

    /// Comma-separated items up to `close`.
    fn list<T>(&mut self, close: char, item: impl Fn(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        self.nested(MAX_DEPTH, |parser| {
            while !parser.eat(close)? {
                items.push(item(parser)?);
                if parser.lexer.peek()? != Token::Mark(close) {
                    parser.mark(',')?;
                }
            }
            Ok(())
        })?;
        Ok(items)
    }

    fn nested<T>(&mut self, limit: usize, rule: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= limit {
            return Err(self.lexer.error("less nesting"));
        }
        self.depth += 1;
        let parsed = rule(self);
        self.depth -= 1;
        parsed
    }

    fn eat(&mut self, mark: char) -> Parsed<bool> {
        let found = self.lexer.peek()? == Token::Mark(mark);
        if found {
            self.lexer.next()?;
        }
        Ok(found)
    }

    fn mark(&mut self, mark: char) -> Parsed<()> {
        if self.eat(mark)? { Ok(()) } else { Err(self.lexer.error(&format!("`{mark}`"))) }
    }

    fn word(&mut self, word: &str) -> Parsed<()> {
        match self.lexer.peek()? {
            Token::Word(w) if w == word => self.lexer.next().map(drop),
            _ => Err(self.lexer.error(&format!("`{word}`"))),
        }
    }

    /// A word or a quoted text.
    fn text(&mut self) -> Parsed<String> {
        self.lexer.expect("a word or a quoted text", |token| match token {
            Token::Word(text) | Token::Text(text) => Some(text),
            _ => None,
        })
    }

    fn ir_version(&mut self) -> Parsed<u32> {
        self.lexer.expect("10 or 11, a version of IR that is supported", |token| match token {
            Token::Number(number) => number.parse().ok().filter(|number| IR_VERSIONS.contains(number)),
            _ => None,
        })
    }
}

fn number(text: &str) -> Option<AttrValue<'static>> {
    let int = text.parse().ok().map(AttrValue::Int);
    int.or_else(|| text.parse().ok().map(AttrValue::Float))
}

fn split_dims(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|t| !t.is_empty())
}
