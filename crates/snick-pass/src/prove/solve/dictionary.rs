//! The exact simplex method on integer rows.

use snick_certificate::gcd;

/// A limit on the number of coefficients that may be computed, so that every query ends in bounded time.
pub(super) struct Budget(pub u32);

impl Budget {
    /// Takes `work` from the budget; `None` if too little is left.
    pub(super) fn spend(&mut self, work: usize) -> Option<()> {
        self.0 = self.0.checked_sub(u32::try_from(work).ok()?)?;
        Some(())
    }
}

/// A polynomial as coefficients of columns; column [`CONSTANT`] is the constant term.
pub(super) type Terms = Vec<(usize, i128)>;

/// The column of the constant term, in [`Terms`] and in rows.
pub(super) const CONSTANT: usize = 0;

/// What a dictionary solves for. Monomials may have any value; inequalities are at least 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Variable {
    Monomial(usize),
    Inequality(usize),
}

/// `scale * basic = coefficients[0] + coefficients[1] * columns[1] + ..`, with a positive scale.
struct Row {
    basic: Variable,
    scale: i128,
    coefficients: Vec<i128>,
}

/// Where a monomial is: a column while its value is 0, otherwise a row.
#[derive(Clone, Copy)]
enum Place {
    Column(usize),
    Row(usize),
}

/// A simplex dictionary (Chvátal, Linear Programming, 1983) without an objective: finds values of monomials at
/// which all inequalities are at least 0, or positive multipliers that make their sum a negative constant.
///
/// Inequalities can be added after solving. Variables are exchanged by Bland's rule, so solving ends.
pub(super) struct Dictionary {
    /// The variables of the columns, which have the value 0. The first column, for the constant term, has no variable of
    /// its own: this entry is unused.
    columns: Vec<Variable>,
    rows: Vec<Row>,
    /// The places of monomials, by number.
    places: Vec<Option<Place>>,
    inequalities: usize,
}

/// The result of [`Dictionary::solve`].
pub(super) enum Solution {
    /// Values of monomials times a positive factor, which is the value of the constant term.
    Point(Vec<i128>),
    /// Numbers of inequalities with positive multipliers.
    Contradiction(Vec<(usize, i128)>),
}

impl Dictionary {
    pub(super) fn new() -> Self {
        let constant = Variable::Monomial(CONSTANT);
        let places = vec![Some(Place::Column(CONSTANT))];
        Self { columns: vec![constant], rows: Vec::new(), places, inequalities: 0 }
    }

    /// Adds an inequality, which gets the next number from 0. `None` on overflow or without budget.
    pub(super) fn add(&mut self, terms: &Terms, budget: &mut Budget) -> Option<()> {
        let basic = Variable::Inequality(self.inequalities);
        self.inequalities += 1;
        let mut row = Row { basic, scale: 1, coefficients: vec![0; self.columns.len()] };
        for &(monomial, factor) in terms {
            if self.places.len() <= monomial {
                self.places.resize(monomial + 1, None);
            }
            match self.places[monomial] {
                Some(Place::Column(column)) => {
                    let coefficient = &mut row.coefficients[column];
                    *coefficient = coefficient.checked_add(factor.checked_mul(row.scale)?)?;
                }
                Some(Place::Row(index)) => {
                    budget.spend(self.columns.len())?;
                    row.add(factor, &self.rows[index])?;
                }
                None => {
                    self.places[monomial] = Some(Place::Column(self.columns.len()));
                    self.columns.push(Variable::Monomial(monomial));
                    budget.spend(self.rows.len() + 1)?;
                    self.rows.iter_mut().for_each(|row| row.coefficients.push(0));
                    row.coefficients.push(factor.checked_mul(row.scale)?);
                }
            }
        }
        self.rows.push(row);
        Some(())
    }

    /// Solves the inequalities that were added. `None` on overflow or without budget.
    pub(super) fn solve(&mut self, budget: &mut Budget) -> Option<Solution> {
        loop {
            budget.spend(self.rows.len())?;
            let violated = (0..self.rows.len()).filter(|&row| {
                let row = &self.rows[row];
                matches!(row.basic, Variable::Inequality(_)) && row.coefficients[CONSTANT] < 0
            });
            let Some(row) = violated.min_by_key(|&row| self.rows[row].basic) else {
                return self.point().map(Solution::Point);
            };
            let coefficients = &self.rows[row].coefficients;
            let entering = (1..self.columns.len()).filter(|&column| match self.columns[column] {
                Variable::Monomial(_) => coefficients[column] != 0,
                Variable::Inequality(_) => coefficients[column] > 0,
            });
            let Some(column) = entering.min_by_key(|&column| self.columns[column]) else {
                return self.multipliers(row).map(Solution::Contradiction);
            };
            self.pivot(row, column, budget)?;
        }
    }

    /// The values of the monomials, with a common denominator.
    fn point(&self) -> Option<Vec<i128>> {
        let mut denominator: i128 = 1;
        for row in &self.rows {
            if matches!(row.basic, Variable::Monomial(_)) && row.scale != 1 {
                denominator = denominator.checked_mul(row.scale / gcd(denominator, row.scale))?;
            }
        }
        let value = |place: &Option<Place>| match *place {
            Some(Place::Row(row)) => {
                let row = &self.rows[row];
                row.coefficients[CONSTANT].checked_mul(denominator / row.scale)
            }
            Some(Place::Column(CONSTANT)) => Some(denominator),
            Some(Place::Column(_)) | None => Some(0),
        };
        self.places.iter().map(value).collect()
    }

    /// The multipliers of a row that no column can increase: its inequality, and those of its columns.
    fn multipliers(&self, row: usize) -> Option<Vec<(usize, i128)>> {
        let row = &self.rows[row];
        let columns = self.columns.iter().zip(&row.coefficients).skip(1);
        let mut multipliers = Vec::new();
        for (variable, multiplier) in columns.map(|(&variable, c)| (variable, c.checked_neg())) {
            match variable {
                Variable::Inequality(number) if multiplier != Some(0) => {
                    multipliers.push((number, multiplier?))
                }
                _ => {}
            }
        }
        if let Variable::Inequality(number) = row.basic {
            multipliers.push((number, row.scale));
        }
        multipliers.sort_unstable();
        Some(multipliers)
    }

    /// Exchanges the basic variable of a row with that of a column.
    fn pivot(&mut self, pivot: usize, column: usize, budget: &mut Budget) -> Option<()> {
        let Self { columns, rows, places, .. } = self;
        let row = &mut rows[pivot];
        let entering = std::mem::replace(&mut columns[column], row.basic);
        row.basic = entering;
        if let Variable::Monomial(monomial) = entering {
            places[monomial] = Some(Place::Row(pivot));
        }
        // scale * basic = .. + c * entering  becomes  c * entering = -(..) + scale * basic, where c is to be
        // positive.
        let coefficient = std::mem::replace(&mut row.coefficients[column], row.scale.checked_neg()?);
        row.scale = coefficient.checked_abs()?;
        if coefficient > 0 {
            for coefficient in row.coefficients.iter_mut().filter(|coefficient| **coefficient != 0) {
                *coefficient = coefficient.checked_neg()?;
            }
        }
        let (before, rest) = rows.split_at_mut(pivot);
        let (row, after) = rest.split_first_mut()?;
        for other in before.iter_mut().chain(after) {
            let factor = std::mem::take(&mut other.coefficients[column]);
            if factor != 0 {
                budget.spend(columns.len())?;
                other.add_scaled(factor, row)?;
            }
        }
        Some(())
    }
}

impl Row {
    /// Adds `factor * other`, where the factor counts in units of the variable itself.
    fn add(&mut self, factor: i128, other: &Self) -> Option<()> {
        self.add_scaled(factor.checked_mul(self.scale)?, other)
    }

    /// Adds `factor * other`, where the factor counts as coefficients of this row do.
    fn add_scaled(&mut self, factor: i128, other: &Self) -> Option<()> {
        let divisor = gcd(factor, other.scale);
        let (factor, multiplier) = (factor / divisor, other.scale / divisor);
        for (coefficient, &added) in self.coefficients.iter_mut().zip(&other.coefficients) {
            if multiplier != 1 {
                *coefficient = coefficient.checked_mul(multiplier)?;
            }
            if added != 0 {
                *coefficient = coefficient.checked_add(factor.checked_mul(added)?)?;
            }
        }
        self.scale = self.scale.checked_mul(multiplier)?;
        self.reduce();
        Some(())
    }

    /// Divides the row by the common divisor of all its numbers.
    fn reduce(&mut self) {
        let mut divisor = self.scale;
        for &coefficient in &self.coefficients {
            if divisor == 1 {
                return;
            }
            divisor = gcd(divisor, coefficient);
        }
        self.scale /= divisor;
        self.coefficients.iter_mut().for_each(|coefficient| *coefficient /= divisor);
    }
}
