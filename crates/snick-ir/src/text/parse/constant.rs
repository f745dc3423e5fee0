//! Constants: their elements are written out or stored in the `.bin` next to the text.

use std::sync::Arc;

use snick_tensor::{ElementType, SmallVector, Storage, Tensor};

use super::{Parsed, Parser};
use crate::ops::source::constant::Constant;
use crate::text::lexer::{ParseError, Token};
use crate::text::literal;

impl Parser<'_> {
    /// `i64[3] <0, 1, 2>`, `f32[64] #digest@offset`, `f32[64] #absent`
    pub(super) fn constant(&mut self) -> Parsed<Constant> {
        let loc = self.lexer.loc();
        let fail = |message: String| ParseError { loc, message };
        let element_type = self.element_type()?;
        let text = self.lexer.brackets()?;
        let items = text.split(',').map(str::trim).filter(|t| !t.is_empty());
        let dims: Option<SmallVector<usize, 4>> = items.map(|t| t.parse().ok()).collect();
        let dims = dims.ok_or_else(|| fail(format!("`[{text}]` is not a static shape")))?;
        if let Token::Digest(digest) = self.lexer.peek()? {
            self.lexer.next()?;
            let (hex, offset) = match digest.split_once('@') {
                Some((hex, offset)) => (hex, offset.parse::<usize>().ok()),
                None => (digest.as_str(), None),
            };
            let digest = u64::from_str_radix(hex, 16).ok();
            if let (Some(weights), Some(offset), Some(digest)) = (self.weights, offset, digest) {
                return self.weights_at(element_type, &dims, weights, offset, digest).map_err(fail);
            }
            return Ok(Constant::absent(element_type, dims, digest));
        }
        self.mark('<')?;
        let items = self.list('>', |parser| {
            parser.lexer.expect("an element", |token| match token {
                Token::Text(text) | Token::Number(text) | Token::Word(text) => Some(text),
                _ => None,
            })
        })?;
        match literal::parse(element_type, &dims, &items) {
            Ok(Some(tensor)) => Ok(Constant::new(Arc::new(tensor))),
            Ok(None) => Err(fail(format!("an element is not of type {element_type}"))),
            Err(error) => Err(fail(error.to_string())),
        }
    }

    /// The constant at `offset` in the `.bin`, whose digest must match.
    fn weights_at(
        &self,
        element_type: ElementType,
        dims: &[usize],
        weights: &Storage,
        offset: usize,
        digest: u64,
    ) -> Result<Constant, String> {
        let count = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
        let length = count.and_then(|n| element_type.byte_len(n)).ok_or("constant too large")?;
        let window = weights.window(offset, length).map_err(|e| e.to_string())?;
        if literal::digest(window.bytes()) != digest {
            return Err(format!(
                "the weights at offset {offset} do not match the digest {digest:016x}; is this the .bin of the text?"
            ));
        }
        let tensor = Tensor::new(element_type, dims, window).map_err(|e| e.to_string())?;
        Ok(Constant::new(Arc::new(tensor)))
    }
}
