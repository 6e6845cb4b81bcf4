//! Headers of a callback. Their values may name secrets, `Bearer {{secrets.token}}`, so that none has to be written down
//! with the action; nothing else of the expressions' world exists here.

use serde_json::{Map, Value};

use crate::expr::{Encoding, ExprError, Limits, Meter, Scope, Segment, Template};

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

/// The headers as they are sent.
pub fn render(
    headers: &Map<String, Value>,
    secrets: &Map<String, Value>,
) -> Result<Map<String, Value>, ExprError> {
    let roots = Map::from_iter([(ROOT.to_owned(), Value::Object(secrets.clone()))]);
    let mut rendered = headers.clone();
    for value in rendered.values_mut() {
        if let Value::String(text) = value
            && text.contains("{{")
        {
            let template = Template::compile(text, Encoding::Text)?;
            let scope = Scope::new(&roots, 0, "", 0);
            *value = template.render(&scope, &mut Meter::new(Limits::default()))?;
        }
    }
    Ok(rendered)
}
