//! A small table printer: columns as wide as they need to be, cut where the terminal ends.

use super::failure::Done;
use super::terminal::{self, Colour, Style};
use super::text;

pub(super) struct Table {
    heads: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

pub(super) struct Cell {
    text: String,
    colour: Colour,
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self {
            text: text.into(),
            colour: Colour::Plain,
        }
    }
}

/// A status in its colour.
pub(super) fn status(name: &str) -> Cell {
    Cell {
        text: name.to_owned(),
        colour: terminal::status_colour(name),
    }
}

const GAP: usize = 2;
/// No column is cut below this.
const NARROWEST: usize = 8;

impl Table {
    pub(super) fn new<const N: usize>(heads: [&'static str; N]) -> Self {
        Self {
            heads: heads.to_vec(),
            rows: Vec::new(),
        }
    }

    pub(super) fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        let cells = cells.into_iter().map(|cell| Cell {
            text: text::cut(&cell.text, usize::MAX),
            ..cell
        });
        self.rows.push(cells.collect());
    }

    pub(super) fn print(&self) -> Done {
        terminal::print(&self.render(terminal::width(), Style::stdout()))
    }

    fn render(&self, width: Option<usize>, style: Style) -> String {
        let widths = self.widths(width);
        let heads: Vec<Cell> = self
            .heads
            .iter()
            .map(|head| Cell {
                text: (*head).to_owned(),
                colour: Colour::Dim,
            })
            .collect();
        let rows = std::iter::once(&heads).chain(&self.rows);
        rows.map(|row| line(row, &widths, style)).collect()
    }

    fn widths(&self, limit: Option<usize>) -> Vec<usize> {
        let natural = |(column, head): (usize, &&str)| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells
                .map(|cell| cell.text.chars().count())
                .chain([head.chars().count()])
                .max()
                .unwrap_or(0)
        };
        let mut widths: Vec<usize> = self.heads.iter().enumerate().map(natural).collect();
        let Some(limit) = limit else { return widths };
        // The first column names the row and stays whole: it is what people copy.
        while widths.iter().sum::<usize>() + GAP * (widths.len() - 1) > limit {
            match widths
                .iter_mut()
                .skip(1)
                .filter(|width| **width > NARROWEST)
                .max()
            {
                Some(widest) => *widest -= 1,
                None => break,
            }
        }
        widths
    }
}

fn line(row: &[Cell], widths: &[usize], style: Style) -> String {
    let mut line = String::new();
    for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
        let shown = text::cut(&cell.text, *width);
        let missing = width.saturating_sub(shown.chars().count());
        line.push_str(&style.paint(cell.colour, &shown));
        if column + 1 < widths.len() {
            line.push_str(&" ".repeat(missing + GAP));
        }
    }
    format!("{}\n", line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new(["ID", "WHAT"]);
        table.row(["1".into(), "a rather long text that goes on".into()]);
        table.row(["200".into(), "short".into()]);
        table
    }

    #[test]
    fn columns_line_up() {
        let text = sample().render(None, Style::stdout());
        assert_eq!(
            text,
            "ID   WHAT\n1    a rather long text that goes on\n200  short\n"
        );
    }

    #[test]
    fn the_widest_column_gives_way() {
        let text = sample().render(Some(20), Style::stdout());
        assert!(
            text.lines().all(|line| line.chars().count() <= 20),
            "{text}"
        );
        assert!(text.contains("a rather long …"), "{text}");
    }
}
