//! Values under other shapes.

use snick_ir::OpError;

use super::emitter::{Emitter, Written};
use super::table::Form::{self, By};

pub(super) const ROWS: &[(&str, Form)] = &[
    ("Broadcast", By(broadcast)),
    ("Identity", By(reshape)),
    ("Reshape", By(reshape)),
    ("Squeeze", By(reshape)),
    ("Tile", By(tile)),
    ("Transpose", By(transpose)),
    ("Unsqueeze", By(reshape)),
];

/// All that only changes sizes: they are known.
fn reshape(e: &mut Emitter) -> Written {
    let (x, dims) = (e.input(0)?, e.output(0)?.dims);
    let y = e.reshape(&x, &dims);
    e.give(0, y)
}

fn transpose(e: &mut Emitter) -> Written {
    let x = e.input(0)?;
    let order = e.fixed(1, "an order of axes")?;
    let order: Vec<usize> = match order.is_empty() {
        true => (0..x.ty.rank()).rev().collect(),
        false => order.iter().filter_map(|&axis| usize::try_from(axis).ok()).collect(),
    };
    let y = e.transpose(&x, &order);
    e.give(0, y)
}

fn broadcast(e: &mut Emitter) -> Written {
    let (x, dims) = (e.input(0)?, e.output(0)?.dims);
    let y = match e.word("mode")?.as_str() {
        "explicit" => {
            let axes = e.fixed(2, "the axes of a broadcast")?;
            let axes: Vec<usize> = axes.iter().filter_map(|&axis| usize::try_from(axis).ok()).collect();
            e.spread(&x, &axes, &dims)
        }
        "pdpd" => return Err(OpError::unsupported("Broadcast of mode pdpd in StableHLO")),
        _ => e.broadcast(&x, &dims),
    };
    e.give(0, y)
}

/// Each axis becomes two, of which the first repeats, and both become one again.
fn tile(e: &mut Emitter) -> Written {
    let (x, dims) = (e.input(0)?, e.output(0)?.dims);
    let own = [vec![1; dims.len().saturating_sub(x.ty.rank())], x.ty.dims.clone()].concat();
    let x = e.reshape(&x, &own);
    let (mut pairs, mut axes) = (Vec::new(), Vec::new());
    for (&size, &all) in own.iter().zip(&dims) {
        axes.push(pairs.len() + 1);
        pairs.extend([all.checked_div(size).unwrap_or(1), size]);
    }
    let repeated = e.spread(&x, &axes, &pairs);
    let y = e.reshape(&repeated, &dims);
    e.give(0, y)
}
