//! All series of a process, by name and labels. Locked when a series is made and when the page is read; never
//! when something is counted, because the code that counts holds the series itself.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex};

use super::describe::{Description, Kind, STEPS};
use super::series::{Counter, Counts, Gauge, Histogram};
use super::text::{self, Sample};
use crate::sync::lock;

#[derive(Default)]
pub struct SeriesRegistry {
    families: Mutex<BTreeMap<&'static str, Family>>,
}

struct Family {
    about: &'static Description,
    series: BTreeMap<Vec<String>, Source>,
}

/// Where the value of a series comes from.
enum Source {
    Counter(Arc<Counter>),
    Gauge(Arc<Gauge>),
    Histogram(Arc<Histogram>),
    Value(Box<dyn Fn() -> f64 + Send + Sync>),
    Counts(Box<dyn Fn() -> Counts + Send + Sync>),
}

impl SeriesRegistry {
    /// The counter of these labels: asked for again it is the same one.
    pub fn counter(&self, about: &'static Description, labels: &[&str]) -> Arc<Counter> {
        let made = Arc::new(Counter::default());
        match self.find(about, labels, Source::Counter(made.clone())) {
            Some(Source::Counter(known)) => known,
            _ => made,
        }
    }

    pub fn gauge(&self, about: &'static Description, labels: &[&str]) -> Arc<Gauge> {
        let made = Arc::new(Gauge::default());
        match self.find(about, labels, Source::Gauge(made.clone())) {
            Some(Source::Gauge(known)) => known,
            _ => made,
        }
    }

    pub fn histogram(&self, about: &'static Description, labels: &[&str]) -> Arc<Histogram> {
        let Kind::Histogram(buckets) = about.kind else {
            // A mistake in the program that a test finds: counted, but nowhere to be seen.
            return Arc::new(Histogram::new(&STEPS));
        };
        let made = Arc::new(Histogram::new(buckets));
        match self.find(about, labels, Source::Histogram(made.clone())) {
            Some(Source::Histogram(known)) => known,
            _ => made,
        }
    }

    /// A counter or gauge that is asked for its value whenever the page is read. Registered again, the new one counts.
    /// It must be quick, and must not register anything itself.
    pub fn observe(
        &self,
        about: &'static Description,
        labels: &[&str],
        value: impl Fn() -> f64 + Send + Sync + 'static,
    ) {
        self.put(about, labels, Source::Value(Box::new(value)));
    }

    /// The same for a histogram that another component keeps, with the buckets of the description.
    pub fn observe_counts(
        &self,
        about: &'static Description,
        labels: &[&str],
        counts: impl Fn() -> Counts + Send + Sync + 'static,
    ) {
        self.put(about, labels, Source::Counts(Box::new(counts)));
    }

    /// Everything in the text format of Prometheus, version 0.0.4: in the order of names, then of labels.
    pub fn text(&self) -> String {
        let mut page = String::with_capacity(16 << 10);
        for family in lock(&self.families).values() {
            text::head(&mut page, family.about);
            for (labels, source) in &family.series {
                text::series(&mut page, family.about, labels, &source.sample());
            }
        }
        page
    }

    /// The series that is there already, if it is one that can be counted on; else `made` takes the place.
    fn find(&self, about: &'static Description, labels: &[&str], made: Source) -> Option<Source> {
        let mut families = lock(&self.families);
        match place(&mut families, about, labels) {
            Entry::Occupied(known) => known.get().shared(),
            Entry::Vacant(free) => {
                free.insert(made);
                None
            }
        }
    }

    fn put(&self, about: &'static Description, labels: &[&str], source: Source) {
        let mut families = lock(&self.families);
        match place(&mut families, about, labels) {
            Entry::Occupied(mut known) => drop(known.insert(source)),
            Entry::Vacant(free) => drop(free.insert(source)),
        }
    }
}

fn place<'f>(
    families: &'f mut BTreeMap<&'static str, Family>,
    about: &'static Description,
    labels: &[&str],
) -> Entry<'f, Vec<String>, Source> {
    debug_assert_eq!(labels.len(), about.labels.len(), "{}", about.name);
    let family = families.entry(about.name).or_insert_with(|| Family {
        about,
        series: BTreeMap::new(),
    });
    let labels = labels.iter().map(|&label| label.to_owned()).collect();
    family.series.entry(labels)
}

impl Source {
    fn shared(&self) -> Option<Self> {
        match self {
            Self::Counter(counter) => Some(Self::Counter(counter.clone())),
            Self::Gauge(gauge) => Some(Self::Gauge(gauge.clone())),
            Self::Histogram(histogram) => Some(Self::Histogram(histogram.clone())),
            Self::Value(_) | Self::Counts(_) => None,
        }
    }

    fn sample(&self) -> Sample {
        match self {
            Self::Counter(counter) => Sample::Value(counter.get() as f64),
            Self::Gauge(gauge) => Sample::Value(gauge.get() as f64),
            Self::Histogram(histogram) => Sample::Counts(histogram.counts()),
            Self::Value(value) => Sample::Value(value()),
            Self::Counts(counts) => Sample::Counts(counts()),
        }
    }
}
