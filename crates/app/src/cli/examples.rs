//! The examples, carried in the binary: `pawl dev` shows something on its first start, wherever it runs.

use pawl_engine::control::Control;
use pawl_kernel::ports::store::{SourceFormat, SourceText};
use pawl_kernel::schema;

use super::failure::Failure;
use super::local;

macro_rules! example {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../../../examples/", $name, ".yaml")),
        )
    };
}

/// Name and text. The first is the one that `pawl dev` suggests to start.
pub(super) const ALL: &[(&str, &str)] = &[
    example!("order-check"),
    example!("one-per-customer"),
    example!("polling-loop"),
    example!("approval"),
    example!("nightly-report"),
    example!("flaky-payment"),
    example!("switch-routing"),
    example!("math-invoice"),
    example!("transform-data"),
    example!("onboarding"),
    example!("error-handling"),
    example!("webhook-quote"),
    example!("webhook-order"),
    example!("code-totals"),
];

/// Fills an empty catalog. Where anything was saved before, nothing is touched.
pub(super) async fn load_once(control: &Control) -> Result<usize, Failure> {
    let runtime = control.runtime();
    if !runtime.store.schemas(None, None, 1).await?.is_empty() {
        return Ok(0);
    }
    let mut loaded = 0;
    for (name, text) in ALL {
        match schema::load(Some(name), text, &runtime.registry).definition {
            Some(definition) => {
                let source = SourceText {
                    text: (*text).to_owned(),
                    format: SourceFormat::Yaml,
                };
                local::save(control, &definition, Some(source)).await?;
                loaded += 1;
            }
            // A broken example is our mistake, not a reason to keep the user from working.
            None => tracing::warn!(name, "the example is not valid and was left out"),
        }
    }
    Ok(loaded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn every_example_is_valid_and_carries_its_name() {
        let registry = crate::wiring::registry(&Config::default(), true).unwrap();
        for (name, text) in ALL {
            let loaded = schema::load(Some(name), text, &registry);
            let problems = schema::render_diagnostics(text, &loaded.diagnostics, false);
            assert_eq!(
                loaded
                    .definition
                    .map(|definition| definition.name)
                    .as_deref(),
                Some(*name),
                "{problems}"
            );
            assert!(problems.is_empty(), "{problems}");
            assert!(text.starts_with("# "), "{name} does not say what it shows");
        }
    }
}
