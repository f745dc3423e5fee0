//! Tests of parsing expressions.

use super::*;

fn table() -> Symbols {
    let mut symbols = Symbols::default();
    for name in ["N", "H", "W"] {
        symbols.named(name, Interval::new(1, i64::MAX).unwrap(), Origin::default()).unwrap();
    }
    symbols
}

fn printed(text: &str) -> String {
    let symbols = table();
    let expr = symbols.parse(text).unwrap();
    let shown = symbols.display(&expr).to_string();
    assert_eq!(symbols.parse(&shown), Ok(expr), "{text} is printed {shown}");
    shown
}

fn fault(text: &str) -> String {
    table().parse(text).unwrap_err().to_string()
}

#[test]
fn arithmetic_is_parsed() {
    assert_eq!(printed(" 2 * ( N + 1 ) "), "2*N+2");
    assert_eq!(printed("W-1-1"), "W-2");
    assert_eq!(printed("W/2/3*6"), "6*(W/6)");
    assert_eq!(printed("-7/2"), "-4");
    assert_eq!(printed("0-7/2"), "-3");
    assert_eq!(printed("-W/2"), "-((W+1)/2)");
    assert_eq!(printed("--W"), "W");
    assert_eq!(printed("W%2+H"), "W%2+H");
    assert_eq!(printed("max(N,H,W-W)"), "max(N,H)");
    assert_eq!(printed("min(N)"), "N");
    assert_eq!(printed("-9223372036854775808"), "-9223372036854775808");
    assert_eq!(printed("N-9223372036854775808"), "N-9223372036854775808");
    assert_eq!(printed("-9223372036854775808*N"), "-9223372036854775808*N");
    assert_eq!(printed("N-9223372036854775808*H"), "N-9223372036854775808*H");
}

#[test]
fn names_that_are_no_words_stand_between_backticks() {
    let mut symbols = Symbols::default();
    let origin = Origin::default();
    let names = ["past length + 1", "`", "", "min", "s4"];
    let named = names.map(|name| symbols.named(name, Interval::DIM, origin).unwrap());
    let fresh = [symbols.fresh(Interval::DIM, origin), symbols.fresh(Interval::DIM, origin)];
    let total = named.iter().chain(&fresh).try_fold(0.into(), |sum, next| symbols.add(&sum, next)).unwrap();
    let shown = symbols.display(&total).to_string();
    assert_eq!(shown, "`past length + 1`+````+``+min+s4+s5+s6");
    assert_eq!(symbols.parse(&shown), Ok(total));
    symbols.named("s5", Interval::DIM, origin).unwrap();
    assert_eq!(symbols.display(&fresh[0]).to_string(), "s_5");
    assert_eq!(symbols.parse("s_5"), Ok(fresh[0].clone()));
}

#[test]
fn errors_say_where_and_what() {
    assert_eq!(fault(""), "expected a number, a name or `(`, found the end at character 1 of ``");
    assert_eq!(fault("N N"), "expected an operator or the end, found `N` at character 3 of `N N`");
    assert_eq!(fault("(N"), "expected an operator or `)`, found the end at character 3 of `(N`");
    assert_eq!(fault("é+1"), "unknown symbol `é` at character 1 of `é+1`");
    assert_eq!(fault("é"), "unknown symbol `é` at character 1 of `é`");
    assert_eq!(fault("N+é"), "unknown symbol `é` at character 3 of `N+é`");
    assert_eq!(fault("s0"), "unknown symbol `s0` at character 1 of `s0`");
    assert_eq!(fault("N/(W-1)"), "the divisor may be 0; its values are ? at character 3 of `N/(W-1)`");
    assert_eq!(
        fault("sin(N)"),
        "expected `min(`, `max(` or an operator, found `sin(` at character 1 of `sin(N)`"
    );
    assert_eq!(fault("N&1"), "expected a name, a number or an operator, found `&` at character 2 of `N&1`");
    assert_eq!(
        fault("`N"),
        "expected a second backtick after the name, found the end at character 3 of ``N`"
    );
    assert_eq!(fault("max()"), "expected a number, a name or `(`, found `)` at character 5 of `max()`");
}

#[test]
fn hostile_texts_are_refused() {
    for text in
        ["9223372036854775808", "99999999999999999999", "0-9223372036854775808/2", "N*9223372036854775807*2"]
    {
        assert_eq!(table().parse(text).unwrap_err().kind, ExprErrorKind::TooLarge, "{text}");
    }
    for open in ["(", "-", "max("] {
        assert_eq!(table().parse(&open.repeat(1000)).unwrap_err().kind, ExprErrorKind::TooDeep);
    }
    assert_eq!(table().parse(&"N+".repeat(100_000)).unwrap_err().kind, ExprErrorKind::TooLarge);
    let power = ["(N+H+W+1)"; 9].join("*");
    assert_eq!(table().parse(&power).unwrap_err().kind, ExprErrorKind::TooLarge);
}

#[test]
fn names_are_declared_only_if_all_is_well() {
    let mut symbols = table();
    let origin = Origin::default();
    assert!(symbols.parse_or_declare("K+(", Interval::DIM, origin).is_err());
    assert_eq!(symbols.len(), 3);
    let sum = symbols.parse_or_declare("max(K-N,0)+K", Interval::DIM, origin).unwrap();
    assert_eq!(symbols.len(), 4);
    assert_eq!(symbols.parse("K+max(0,K-N)"), Ok(sum));
    assert_eq!(symbols.parse_or_declare("X*2", Interval::exact(3), origin), Ok(6.into()));
}
