//! What there is to know about this process as a whole.

use pawl_engine::Runtime;
use pawl_engine::metrics::describe::Description;

pub static BUILD_INFO: Description = Description::gauge(
    "pawl_build_info",
    "Always 1; the label says which version runs.",
)
.by(&["version"]);
pub static START_TIME: Description = Description::gauge(
    "pawl_process_start_time_seconds",
    "When the process started, in seconds since 1970.",
);
pub static RESIDENT_MEMORY: Description = Description::gauge(
    "pawl_process_resident_memory_bytes",
    "Memory of the process that is in RAM.",
);
pub static OPEN_FDS: Description = Description::gauge(
    "pawl_process_open_fds",
    "Open files and sockets of the process.",
);

/// Shows it with the other metrics. What the system does not tell is left out.
pub fn observe(runtime: &Runtime) {
    let series = runtime.metrics.series();
    series.observe(&BUILD_INFO, &[env!("CARGO_PKG_VERSION")], || 1.0);
    let started = runtime.clock.now().as_micros() as f64 / 1e6;
    series.observe(&START_TIME, &[], move || started);
    if resident_bytes().is_some() {
        series.observe(&RESIDENT_MEMORY, &[], || {
            resident_bytes().unwrap_or(f64::NAN)
        });
    }
    if open_files().is_some() {
        series.observe(&OPEN_FDS, &[], || open_files().unwrap_or(f64::NAN));
    }
}

fn resident_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024.0)
}

fn open_files() -> Option<f64> {
    // Looking opens one more.
    let found = std::fs::read_dir("/proc/self/fd").ok()?.count();
    Some(found.saturating_sub(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_and_files() {
        assert!(resident_bytes().is_some_and(|bytes| bytes > 100_000.0));
        assert!(open_files().is_some_and(|count| count >= 3.0));
    }
}
