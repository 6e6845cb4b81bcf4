//! What a metric is: its name, kind, labels and meaning. The page `docs/metrics.md` is made from these.

/// One metric, with all of its series.
#[derive(Debug)]
pub struct Description {
    pub name: &'static str,
    pub kind: Kind,
    /// The names of its labels; a series has one value for each.
    pub labels: &'static [&'static str],
    /// One sentence for people.
    pub help: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Counter,
    Gauge,
    Histogram(&'static Buckets),
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram(_) => "histogram",
        }
    }
}

/// The bounds of a histogram, upper ends included, in whole numbers.
#[derive(Debug)]
pub struct Buckets {
    pub bounds: &'static [u64],
    /// How many of them make one of the unit shown: 1 000 000 if microseconds are shown as seconds.
    pub per_unit: u64,
}

impl Buckets {
    /// A whole number as it is shown.
    pub fn shown(&self, value: u64) -> f64 {
        // Divided, not multiplied: so 100 µs are 0.0001 s to the last digit.
        value as f64 / self.per_unit as f64
    }
}

impl Description {
    pub const fn counter(name: &'static str, help: &'static str) -> Self {
        Self::new(name, Kind::Counter, help)
    }

    pub const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self::new(name, Kind::Gauge, help)
    }

    pub const fn histogram(
        name: &'static str,
        buckets: &'static Buckets,
        help: &'static str,
    ) -> Self {
        Self::new(name, Kind::Histogram(buckets), help)
    }

    pub const fn by(mut self, labels: &'static [&'static str]) -> Self {
        self.labels = labels;
        self
    }

    const fn new(name: &'static str, kind: Kind, help: &'static str) -> Self {
        Self {
            name,
            kind,
            labels: &[],
            help,
        }
    }
}

const MILLI: u64 = 1_000;
const SECOND: u64 = 1_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// From what memory takes to what people put up with: nodes, commits, requests.
pub static WORK_TIME: Buckets = Buckets {
    bounds: &[
        100,
        250,
        500,
        MILLI,
        2_500,
        5 * MILLI,
        10 * MILLI,
        25 * MILLI,
        50 * MILLI,
        100 * MILLI,
        250 * MILLI,
        500 * MILLI,
        SECOND,
        2_500 * MILLI,
        5 * SECOND,
        10 * SECOND,
        30 * SECOND,
        MINUTE,
        5 * MINUTE,
    ],
    per_unit: SECOND,
};

/// How late something is: a message that waited, a timer that fired.
pub static DELAY: Buckets = Buckets {
    bounds: &[
        MILLI,
        5 * MILLI,
        10 * MILLI,
        50 * MILLI,
        100 * MILLI,
        500 * MILLI,
        SECOND,
        2 * SECOND,
        5 * SECOND,
        10 * SECOND,
        30 * SECOND,
        MINUTE,
        5 * MINUTE,
        30 * MINUTE,
        HOUR,
        6 * HOUR,
    ],
    per_unit: SECOND,
};

/// Whole executions: from milliseconds to those that wait for people.
pub static LIFE_TIME: Buckets = Buckets {
    bounds: &[
        MILLI,
        5 * MILLI,
        10 * MILLI,
        50 * MILLI,
        100 * MILLI,
        500 * MILLI,
        SECOND,
        5 * SECOND,
        10 * SECOND,
        30 * SECOND,
        MINUTE,
        5 * MINUTE,
        30 * MINUTE,
        HOUR,
        6 * HOUR,
        DAY,
        7 * DAY,
        30 * DAY,
    ],
    per_unit: SECOND,
};

/// Steps of one transition; `max_nodes_per_message` is 64 unless the schema sets it.
pub static STEPS: Buckets = Buckets {
    bounds: &[0, 1, 2, 4, 8, 16, 32, 64, 128, 256],
    per_unit: 1,
};

/// Jobs of one transaction of the store.
pub static BATCH: Buckets = Buckets {
    bounds: &pawl_kernel::ports::batches::BOUNDS,
    per_unit: 1,
};
