//! JSON as AMQP headers.

use lapin::types::{AMQPValue, FieldArray, FieldTable, ShortString};
use serde_json::{Map, Value};

/// An error names the key that does not fit.
pub(crate) fn table(object: &Map<String, Value>) -> Result<FieldTable, String> {
    let mut table = FieldTable::default();
    for (key, value) in object {
        let name = ShortString::try_new(key.as_str())
            .map_err(|_| format!("the header name `{}…` has more than 255 bytes", head(key)))?;
        table.insert(name, amqp_value(value)?);
    }
    Ok(table)
}

fn amqp_value(value: &Value) -> Result<AMQPValue, String> {
    Ok(match value {
        Value::Null => AMQPValue::Void,
        Value::Bool(value) => AMQPValue::Boolean(*value),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => AMQPValue::LongLongInt(whole),
            (None, Some(real)) if !number.is_u64() => AMQPValue::Double(real),
            // AMQP has no whole number this large; as text no digit is lost.
            _ => AMQPValue::LongString(number.to_string().into()),
        },
        Value::String(text) => AMQPValue::LongString(text.as_str().into()),
        Value::Array(values) => {
            let mut array = FieldArray::default();
            for value in values {
                array.push(amqp_value(value)?);
            }
            AMQPValue::FieldArray(array)
        }
        Value::Object(object) => AMQPValue::FieldTable(table(object)?),
    })
}

fn head(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_of_value_has_its_counterpart() {
        let headers = json!({
            "text": "käse", "whole": -5, "real": 1.5, "huge": u64::MAX, "yes": true, "none": null,
            "list": [1, "a", [false]], "object": {"deep": {"er": 1}},
        });
        let table = table(headers.as_object().unwrap()).unwrap();
        let value = |key: &str| table.inner().get(key).unwrap().clone();
        assert_eq!(value("text"), AMQPValue::LongString("käse".into()));
        assert_eq!(value("whole"), AMQPValue::LongLongInt(-5));
        assert_eq!(value("real"), AMQPValue::Double(1.5));
        assert_eq!(
            value("huge"),
            AMQPValue::LongString(u64::MAX.to_string().into())
        );
        assert_eq!(value("yes"), AMQPValue::Boolean(true));
        assert_eq!(value("none"), AMQPValue::Void);
        assert!(matches!(value("list"), AMQPValue::FieldArray(list) if list.as_slice().len() == 3));
        assert!(matches!(value("object"), AMQPValue::FieldTable(_)));
    }

    #[test]
    fn names_that_do_not_fit_are_refused() {
        let headers = json!({"object": {"x".repeat(256): 1}});
        let refused = table(headers.as_object().unwrap()).unwrap_err();
        assert!(refused.contains("more than 255 bytes"), "{refused}");
    }
}
