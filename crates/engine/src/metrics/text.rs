//! The text that Prometheus reads, version 0.0.4.

use std::fmt::Write as _;

use super::describe::{Buckets, Description, Kind};
use super::series::Counts;

/// What the answer to a scrape says it is.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(super) enum Sample {
    Value(f64),
    Counts(Counts),
}

pub(super) fn head(page: &mut String, about: &Description) {
    page.push_str("# HELP ");
    page.push_str(about.name);
    page.push(' ');
    escape(page, about.help, false);
    page.push('\n');
    let _ = writeln!(page, "# TYPE {} {}", about.name, about.kind.name());
}

pub(super) fn series(page: &mut String, about: &Description, labels: &[String], sample: &Sample) {
    match (sample, about.kind) {
        (Sample::Value(value), _) => {
            line(page, about, "", labels, None, *value);
        }
        (Sample::Counts(counts), Kind::Histogram(buckets)) => {
            histogram(page, about, buckets, labels, counts);
        }
        (Sample::Counts(_), _) => {}
    }
}

/// Buckets are cumulative, and the count is that of the last one: so they agree although others count meanwhile.
fn histogram(
    page: &mut String,
    about: &Description,
    buckets: &Buckets,
    labels: &[String],
    counts: &Counts,
) {
    let mut total = 0;
    for (index, bound) in buckets.bounds.iter().enumerate() {
        total += counts.buckets.get(index).copied().unwrap_or(0);
        let bound = buckets.shown(*bound).to_string();
        line(page, about, "_bucket", labels, Some(&bound), total as f64);
    }
    let beyond = counts.buckets.iter().skip(buckets.bounds.len());
    total += beyond.sum::<u64>();
    line(page, about, "_bucket", labels, Some("+Inf"), total as f64);
    line(page, about, "_sum", labels, None, buckets.shown(counts.sum));
    line(page, about, "_count", labels, None, total as f64);
}

fn line(
    page: &mut String,
    about: &Description,
    ending: &str,
    labels: &[String],
    bound: Option<&str>,
    value: f64,
) {
    page.push_str(about.name);
    page.push_str(ending);
    let own = about.labels.iter().copied();
    let own = own.zip(labels.iter().map(String::as_str));
    let mut before = '{';
    for (name, label) in own.chain(bound.map(|bound| ("le", bound))) {
        page.push(before);
        page.push_str(name);
        page.push_str("=\"");
        escape(page, label, true);
        page.push('"');
        before = ',';
    }
    if before == ',' {
        page.push('}');
    }
    page.push(' ');
    number(page, value);
    page.push('\n');
}

/// Whole numbers without a fraction; nothing in exponents.
fn number(page: &mut String, value: f64) {
    let _ = match value {
        value if value.is_nan() => page.write_str("NaN"),
        f64::INFINITY => page.write_str("+Inf"),
        f64::NEG_INFINITY => page.write_str("-Inf"),
        value => write!(page, "{value}"),
    };
}

fn escape(page: &mut String, text: &str, quoted: bool) {
    for letter in text.chars() {
        match letter {
            '\\' => page.push_str("\\\\"),
            '\n' => page.push_str("\\n"),
            '"' if quoted => page.push_str("\\\""),
            other => page.push(other),
        }
    }
}
