//! Headers of a callback. Their values may name secrets, `Bearer {{secrets.token}}`, so that none has to be written down
//! with the action; nothing else of the expressions' world exists here.

use serde_json::{Map, Value};

use crate::expr::{Encoding, ExprError, Meter, Scope, Segment, Template};
use crate::secrets::SecretReads;

const ROOT: &str = "secrets";

/// What is wrong with a value that holds `{{ }}`.
pub(super) fn check(text: &str) -> Result<(), String> {
    if !text.contains("{{") {
        return Ok(());
    }
    let template = Template::compile(text, Encoding::Text).map_err(|error| error.message)?;
    let is_secret =
        |path: &[Segment]| matches!(path.first(), Some(Segment::Key(root)) if root == ROOT);
    let others = template.references();
    match others.iter().find(|reference| !is_secret(&reference.path)) {
        Some(_) => Err("only `{{secrets.NAME}}` can stand in a header".into()),
        None => Ok(()),
    }
}

/// The secrets that they name.
pub fn secret_reads(headers: &Map<String, Value>) -> SecretReads {
    let mut reads = SecretReads::default();
    let texts = headers.values().filter_map(Value::as_str);
    for text in texts.filter(|text| text.contains("{{")) {
        if let Ok(template) = Template::compile(text, Encoding::Text) {
            template
                .references()
                .into_iter()
                .for_each(|one| reads.add(one));
        }
    }
    reads
}

/// The headers as they are sent. All of them share what the meter allows, as the expressions of a node's config do.
pub fn render(
    headers: &Map<String, Value>,
    secrets: &Map<String, Value>,
    meter: &mut Meter,
) -> Result<Map<String, Value>, ExprError> {
    let roots = Map::from_iter([(ROOT.to_owned(), Value::Object(secrets.clone()))]);
    let mut rendered = headers.clone();
    for value in rendered.values_mut() {
        if let Value::String(text) = value
            && text.contains("{{")
        {
            let template = Template::compile(text, Encoding::Text)?;
            let scope = Scope::new(&roots, 0, "", 0);
            *value = template.render(&scope, meter)?;
        }
    }
    Ok(rendered)
}
