//! Reads the text format of Prometheus (0.0.4) as strictly as can be: what this takes, every scraper takes. Shares
//! nothing with the code that writes it.

use std::collections::{BTreeMap, BTreeSet};

/// A page of metrics that keeps all the rules.
#[derive(Debug, Default)]
pub struct Exposition {
    pub families: BTreeMap<String, Family>,
}

#[derive(Debug, Default)]
pub struct Family {
    pub help: String,
    pub kind: String,
    pub samples: Vec<Sample>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub name: String,
    pub labels: Labels,
    pub value: f64,
}

pub type Labels = BTreeMap<String, String>;

impl Exposition {
    /// `Err`: the line that breaks a rule, and which.
    pub fn parse(page: &str) -> Result<Self, String> {
        let mut read = Self::default();
        let mut current = String::new();
        let page = page.strip_suffix('\n').ok_or("no newline at the end")?;
        for line in page.split('\n') {
            let done = match line.strip_prefix("# ") {
                Some(comment) => read.comment(comment, &mut current),
                None => read.sample(line, &current),
            };
            done.map_err(|problem| format!("{problem}: {line:?}"))?;
        }
        for (name, family) in &read.families {
            family
                .check(name)
                .map_err(|problem| format!("{name}: {problem}"))?;
        }
        Ok(read)
    }

    fn comment(&mut self, comment: &str, current: &mut String) -> Result<(), String> {
        let mut words = comment.splitn(3, ' ');
        let mut word = || words.next().ok_or("a comment that says nothing");
        let (what, name, rest) = (word()?, word()?, word()?);
        match what {
            "HELP" => {
                let fresh = Family {
                    help: unescape(rest, false)?,
                    ..Family::default()
                };
                *current = checked_name(name)?;
                if self.families.insert(current.clone(), fresh).is_some() {
                    return Err("the family comes twice".into());
                }
            }
            "TYPE" if name == current.as_str() => {
                let family = self.families.get_mut(name).ok_or("TYPE before HELP")?;
                if !matches!(rest, "counter" | "gauge" | "histogram") || !family.kind.is_empty() {
                    return Err("a wrong TYPE".into());
                }
                family.kind = rest.into();
            }
            _ => return Err("a comment out of place".into()),
        }
        Ok(())
    }

    fn sample(&mut self, line: &str, current: &str) -> Result<(), String> {
        let sample = sample(line)?;
        let family = self.families.get_mut(current).ok_or("no family yet")?;
        let ending = sample.name.strip_prefix(current);
        let fits = match family.kind.as_str() {
            "histogram" => matches!(ending, Some("_bucket" | "_sum" | "_count")),
            "counter" | "gauge" => ending == Some(""),
            _ => false,
        };
        if !fits {
            return Err(format!("not a sample of {current}"));
        }
        family.samples.push(sample);
        Ok(())
    }

    /// The value of the series with exactly these labels; 0 if there is none.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let wanted = owned(labels);
        let all = self.families.values().flat_map(|family| &family.samples);
        let mut found = all.filter(|sample| sample.name == name && sample.labels == wanted);
        found.next().map_or(0.0, |sample| sample.value)
    }

    /// The values of one label, over all series of a family.
    pub fn label_values(&self, family: &str, label: &str) -> BTreeSet<&str> {
        let samples = self.families.get(family).into_iter();
        samples
            .flat_map(|family| &family.samples)
            .filter_map(|sample| sample.labels.get(label))
            .map(String::as_str)
            .collect()
    }
}

fn owned(labels: &[(&str, &str)]) -> Labels {
    let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    labels.iter().map(pair).collect()
}

impl Family {
    fn check(&self, name: &str) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for sample in &self.samples {
            let series = (&sample.name, &sample.labels);
            if !seen.insert(series) {
                return Err(format!("the series {series:?} comes twice"));
            }
        }
        match self.kind.as_str() {
            "counter" if !name.ends_with("_total") => Err("a counter ends in _total".into()),
            "counter" => match self.samples.iter().find(|sample| !is_count(sample.value)) {
                Some(sample) => Err(format!("no count: {sample:?}")),
                None => Ok(()),
            },
            "histogram" => self.check_histogram(name),
            "gauge" => Ok(()),
            _ => Err("no TYPE".into()),
        }
    }

    fn check_histogram(&self, name: &str) -> Result<(), String> {
        let mut series: BTreeMap<Labels, Vec<&Sample>> = BTreeMap::new();
        for sample in &self.samples {
            let mut labels = sample.labels.clone();
            labels.remove("le");
            series.entry(labels).or_default().push(sample);
        }
        series
            .values()
            .try_for_each(|samples| check_one(name, samples))
    }
}

/// Buckets from the smallest to +Inf, never falling; then sum and count, and the count is that of +Inf.
fn check_one(name: &str, samples: &[&Sample]) -> Result<(), String> {
    let (buckets, rest) = samples.split_at(samples.len().saturating_sub(2));
    let [sum, count] = rest else {
        return Err("sum or count is missing".into());
    };
    if sum.name != format!("{name}_sum") || count.name != format!("{name}_count") {
        return Err("buckets, then sum, then count".into());
    }
    let mut before = (f64::NEG_INFINITY, 0.0);
    for bucket in buckets {
        let bound = bucket.labels.get("le").ok_or("a bucket without le")?;
        let bound = number(bound)?;
        if bound <= before.0 || bucket.value < before.1 || !is_count(bucket.value) {
            return Err(format!("after {before:?} comes {bucket:?}"));
        }
        before = (bound, bucket.value);
    }
    match before == (f64::INFINITY, count.value) && sum.value >= 0.0 {
        true => Ok(()),
        false => Err(format!("{before:?} is the last bucket of {count:?}")),
    }
}

fn is_count(value: f64) -> bool {
    value >= 0.0 && value.is_finite() && value.fract() == 0.0
}

fn sample(line: &str) -> Result<Sample, String> {
    let end = line.find(['{', ' ']).ok_or("no value")?;
    let name = checked_name(&line[..end])?;
    let (labels, value) = match line[end..].strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Labels::new(), &line[end..]),
    };
    let value = value.strip_prefix(' ').ok_or("no space before the value")?;
    Ok(Sample {
        name,
        labels,
        value: number(value)?,
    })
}

/// What stands between the braces, and what follows them.
fn labels(mut rest: &str) -> Result<(Labels, &str), String> {
    let mut labels = Labels::new();
    loop {
        let (name, after) = rest.split_once("=\"").ok_or("no label")?;
        let end = closing_quote(after).ok_or("a label that does not end")?;
        let value = unescape(&after[..end], true)?;
        if labels.insert(checked_name(name)?, value).is_some() {
            return Err(format!("the label {name} comes twice"));
        }
        rest = &after[end + 1..];
        match rest.split_at_checked(1) {
            Some((",", more)) => rest = more,
            Some(("}", more)) => return Ok((labels, more)),
            _ => return Err("neither , nor } after a label".into()),
        }
    }
}

fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(index, letter)| {
        let ends = letter == '"' && !escaped;
        escaped = letter == '\\' && !escaped;
        ends.then_some(index)
    })
}

fn unescape(text: &str, quoted: bool) -> Result<String, String> {
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        plain.push(match (letter, quoted) {
            ('\\', _) => match (letters.next(), quoted) {
                (Some('\\'), _) => '\\',
                (Some('n'), _) => '\n',
                (Some('"'), true) => '"',
                (other, _) => return Err(format!("\\{other:?} means nothing")),
            },
            ('"', true) => return Err("a quote inside a label".into()),
            (letter, _) => letter,
        });
    }
    Ok(plain)
}

fn checked_name(name: &str) -> Result<String, String> {
    let fits = |(index, letter): (usize, char)| {
        letter.is_ascii_lowercase() || letter == '_' || (index > 0 && letter.is_ascii_digit())
    };
    match !name.is_empty() && name.chars().enumerate().all(fits) {
        true => Ok(name.to_owned()),
        false => Err(format!("{name:?} is no name")),
    }
}

fn number(text: &str) -> Result<f64, String> {
    let plain = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '-');
    match text {
        "+Inf" => Ok(f64::INFINITY),
        text if text.chars().all(plain) => text.parse().map_err(|_| format!("{text} is no number")),
        _ => Err(format!("{text} is no number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# HELP a_total Two\\nlines.\n# TYPE a_total counter\na_total{b=\"c\\\"\\\\\\nd\"} 3\n\
        # HELP h_seconds H.\n# TYPE h_seconds histogram\nh_seconds_bucket{le=\"0.5\"} 1\n\
        h_seconds_bucket{le=\"+Inf\"} 2\nh_seconds_sum 7.25\nh_seconds_count 2\n";

    #[test]
    fn a_good_page_is_read() {
        let page = Exposition::parse(GOOD).unwrap();
        assert_eq!(page.families["a_total"].help, "Two\nlines.");
        assert_eq!(page.value("a_total", &[("b", "c\"\\\nd")]), 3.0);
        assert_eq!(page.value("h_seconds_bucket", &[("le", "0.5")]), 1.0);
        assert_eq!(page.value("h_seconds_sum", &[]), 7.25);
    }

    #[test]
    fn every_broken_rule_is_found() {
        for (good, bad) in [
            ("a_total{b=", "a_total{B="),
            ("\\\"", "\""),
            ("} 3", "} 3.5"),
            ("} 3", "} -3"),
            ("} 3", "}3"),
            ("# TYPE a_total counter\n", ""),
            ("# TYPE a_total counter", "# TYPE a_total gorge"),
            ("h_seconds_count 2", "h_seconds_count 3"),
            ("h_seconds_sum 7.25\n", ""),
            ("le=\"0.5\"} 1", "le=\"0.5\"} 4"),
            ("h_seconds_count 2\n", "h_seconds_count 2"),
            (
                "h_seconds_count 2\n",
                "h_seconds_count 2\nh_seconds_count 2\n",
            ),
            ("# HELP h_seconds H.\n", "# HELP a_total H.\n"),
        ] {
            let page = GOOD.replacen(good, bad, 1);
            assert_ne!(page, GOOD, "{good}");
            assert!(Exposition::parse(&page).is_err(), "{good} → {bad}");
        }
    }
}
