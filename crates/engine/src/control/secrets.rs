//! The one place where secrets are taken out of what comes in from outside, whatever door it comes by: nothing that a caller
//! sends is stored before it was here.

use serde_json::{Map, Value};

use super::{Control, ControlError, StartRequest};

impl Control {
    pub(super) fn hide_in_start(&self, request: &mut StartRequest) -> Result<(), ControlError> {
        let redactor = &self.runtime.redactor;
        if redactor.is_empty() {
            return Ok(());
        }
        self.refuse_secret("the idempotency key", request.idempotency_key.as_deref())?;
        let texts = [&mut request.tenant, &mut request.correlation_id];
        texts
            .into_iter()
            .flatten()
            .for_each(|text| redactor.text(text));
        let values = [&mut request.input, &mut request.webhook, &mut request.user];
        values
            .into_iter()
            .flatten()
            .for_each(|value| redactor.value(value));
        redactor.object(&mut request.variables);
        redactor.object(&mut request.labels);
        let pins = request
            .trial
            .iter_mut()
            .flat_map(|trial| trial.pins.values_mut());
        pins.for_each(|pin| redactor.value(&mut pin.output));
        Ok(())
    }

    pub(super) fn without_secrets(&self, mut fields: Map<String, Value>) -> Map<String, Value> {
        self.runtime.redactor.object(&mut fields);
        fields
    }

    /// What tells one request from another cannot be altered: two that differ would become one.
    pub(super) fn refuse_secret(&self, what: &str, text: Option<&str>) -> Result<(), ControlError> {
        match text.is_some_and(|text| self.runtime.redactor.hides(text)) {
            false => Ok(()),
            true => Err(ControlError::Invalid {
                code: "INVALID_REQUEST",
                message: format!(
                    "{what} holds the value of a secret of this server; choose another one"
                ),
            }),
        }
    }
}
