//! Modules as MLIR text.

use std::collections::HashMap;
use std::fmt::{self, Formatter, Write as _};

use super::code::{Block, Op, Part};
use super::module::{Module, Program};
use super::types::Value;
use crate::stablehlo::literal::write_hex;
use crate::stablehlo::print::Quoted;
use crate::unique_names::UniqueNames;

/// The alignment of large constants in bytes, as the little-endian prefix of their text.
const ALIGNMENT: &str = "10000000";

impl fmt::Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let program = &*self.program;
        for (number, map) in program.maps.iter().enumerate() {
            writeln!(f, "#map{number} = affine_map<{map}>")?;
        }
        writeln!(f, "module @{} {{", Quoted(&self.main.name))?;
        let (locations, places) = locations(program);
        let printer = Printer { program, names: names(program), places };
        f.write_str("  func.func public @main(")?;
        for (i, (value, ty)) in program.arguments.iter().enumerate() {
            write!(f, "{}%{}: {ty}", if i > 0 { ", " } else { "" }, printer.name(*value))?;
        }
        writeln!(f, ") -> ({}) {{", program.results)?;
        printer.ops(f, &program.ops, 4, true)?;
        f.write_str("  }\n}\n")?;
        for (number, location) in locations.iter().enumerate() {
            writeln!(f, "#loc{number} = loc({location})")?;
        }
        resources(f, program)
    }
}

/// The locations in the model's file, and for each place of the program the number of its location.
fn locations(program: &Program) -> (Vec<String>, Vec<usize>) {
    let (mut locations, mut numbers) = (Vec::new(), HashMap::new());
    let places = program.places.iter().map(|place| {
        let (layer, file, loc) = (Quoted(&place.layer), Quoted(&program.file), place.loc);
        let location = match loc.line {
            0 => layer.to_string(),
            line => format!("{layer}({file}:{line}:{})", loc.column),
        };
        *numbers.entry(location.clone()).or_insert_with(|| {
            locations.push(location);
            locations.len() - 1
        })
    });
    let places = places.collect();
    (locations, places)
}

/// The large constants, behind the module.
fn resources(f: &mut Formatter<'_>, program: &Program) -> fmt::Result {
    if program.resources.is_empty() {
        return Ok(());
    }
    f.write_str("{-#\n  dialect_resources: {\n    builtin: {\n")?;
    for (i, (name, tensor)) in program.resources.iter().enumerate() {
        write!(f, "      {name}: \"0x{ALIGNMENT}")?;
        write_hex(f, tensor)?;
        f.write_str(if i + 1 < program.resources.len() { "\",\n" } else { "\"\n" })?;
    }
    f.write_str("    }\n  }\n#-}\n")
}

/// The name of each used value. Values without a name of their own are numbered.
fn names(program: &Program) -> Vec<String> {
    let mut names = vec![String::new(); program.names.len()];
    let (mut unique, mut next) = (UniqueNames::default(), 0_usize);
    let mut name = |Value(value): Value| {
        if !names[value].is_empty() {
            return;
        }
        names[value] = match program.names[value].as_str() {
            "" => {
                next += 1;
                (next - 1).to_string()
            }
            hint => unique.give(hint.to_string(), '_', 0),
        };
    };
    program.arguments.iter().for_each(|(value, _)| name(*value));
    visit(&program.ops, &mut name);
    names
}

/// Visits all values in the order of the text.
fn visit(ops: &[Op], name: &mut impl FnMut(Value)) {
    for op in ops {
        op.results.iter().for_each(|&value| name(value));
        for part in &op.parts {
            match part {
                // The head of a loop defines the arguments of its first block.
                Part::Value(value) => name(*value),
                Part::Block(block) => {
                    block.arguments.iter().for_each(|(value, _)| name(*value));
                    visit(&block.ops, name);
                }
                Part::Text(_) | Part::Map(_) | Part::Resource(_) => {}
            }
        }
    }
}

struct Printer<'p> {
    program: &'p Program,
    names: Vec<String>,
    /// The number of the location of each place.
    places: Vec<usize>,
}

impl Printer<'_> {
    fn name(&self, value: Value) -> &str {
        self.names.get(value.0).map_or("", String::as_str)
    }

    fn ops(&self, f: &mut Formatter<'_>, ops: &[Op], indent: usize, is_located: bool) -> fmt::Result {
        ops.iter().try_for_each(|op| self.op(f, op, indent, is_located))
    }

    /// Operations in the bodies of other operations than loops and branches have no location of their own.
    fn op(&self, f: &mut Formatter<'_>, op: &Op, indent: usize, is_located: bool) -> fmt::Result {
        write!(f, "{:indent$}", "")?;
        for (i, &result) in op.results.iter().enumerate() {
            write!(f, "{}%{}", if i > 0 { ", " } else { "" }, self.name(result))?;
        }
        if !op.results.is_empty() {
            f.write_str(" = ")?;
        }
        let is_control = matches!(op.parts.first(), Some(Part::Text(text)) if text.starts_with("scf."));
        for part in &op.parts {
            match part {
                Part::Text(text) => f.write_str(text)?,
                Part::Value(value) => write!(f, "%{}", self.name(*value))?,
                Part::Map(number) => write!(f, "#map{number}")?,
                Part::Resource(number) => f.write_str(&self.program.resources[*number].0)?,
                Part::Block(block) => self.block(f, block, indent, is_located && is_control)?,
            }
        }
        match self.places.get(op.place).filter(|_| is_located) {
            Some(number) => writeln!(f, " loc(#loc{number})"),
            None => f.write_char('\n'),
        }
    }

    fn block(&self, f: &mut Formatter<'_>, block: &Block, indent: usize, is_located: bool) -> fmt::Result {
        f.write_str("{\n")?;
        if !block.arguments.is_empty() {
            write!(f, "{:indent$}^bb0(", "")?;
            for (i, (value, ty)) in block.arguments.iter().enumerate() {
                write!(f, "{}%{}: {ty}", if i > 0 { ", " } else { "" }, self.name(*value))?;
            }
            f.write_str("):\n")?;
        }
        self.ops(f, &block.ops, indent + 2, is_located)?;
        write!(f, "{:indent$}}}", "")
    }
}
