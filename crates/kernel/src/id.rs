//! Identifiers. All of them are UUIDs; those that name rows in time order are version 7.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::time::Timestamp;

/// Where random bits come from. A port, so that a simulation can replay them.
pub trait Entropy: Send + Sync {
    fn bits(&self) -> u128;
}

/// A random UUID (version 4): tokens, commit ids, wait ids.
pub fn random(entropy: &dyn Entropy) -> Uuid {
    uuid::Builder::from_random_bytes(entropy.bits().to_be_bytes()).into_uuid()
}

/// A time-ordered UUID (version 7) with microseconds in the sub-millisecond bits, so that ids made
/// within one millisecond by one process still sort by age.
pub fn time_ordered(now: Timestamp, entropy: &dyn Entropy) -> Uuid {
    let micros = now.as_micros().max(0);
    let millis = (micros / 1000) as u64;
    let mut bytes = entropy.bits().to_be_bytes();
    bytes[0..6].copy_from_slice(&millis.to_be_bytes()[2..8]);
    // 1000 microseconds spread over the 12 bits after the version (RFC 9562, method 3).
    let fraction = ((micros % 1000) * 4096 / 1000) as u16;
    bytes[6] = 0x70 | (fraction >> 8) as u8;
    bytes[7] = (fraction & 0xff) as u8;
    bytes[8] = 0x80 | (bytes[8] & 0x3f);
    Uuid::from_bytes(bytes)
}

/// The first and the last id that could be made in the millisecond of this time.
pub fn ids_at(at: Timestamp) -> (Uuid, Uuid) {
    let millis = (at.as_micros().max(0) / 1000) as u64;
    let edge = |fill: u8| {
        let mut bytes = [fill; 16];
        bytes[0..6].copy_from_slice(&millis.to_be_bytes()[2..8]);
        Uuid::from_bytes(bytes)
    };
    (edge(0), edge(0xff))
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            /// Accepts the hyphenated form only: one spelling per id.
            fn from_str(text: &str) -> Result<Self, uuid::Error> {
                let id = Uuid::try_parse(text)?;
                if text.len() == 36 { Ok(Self(id)) } else { Err(Uuid::try_parse("").unwrap_err()) }
            }
        }
    };
}

uuid_id!(
    /// One run of one schema version. Version 7: ids sort by creation time.
    ExecutionId
);
uuid_id!(
    /// A schema, over all of its versions.
    SchemaId
);
uuid_id!(
    /// An API key. Version 7: ids sort by creation time.
    KeyId
);

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(u128);
    impl Entropy for Fixed {
        fn bits(&self) -> u128 {
            self.0
        }
    }

    #[test]
    fn time_ordered_ids_sort_by_microsecond() {
        let early = time_ordered(
            Timestamp::from_micros(1_700_000_000_000_001),
            &Fixed(u128::MAX),
        );
        let late = time_ordered(Timestamp::from_micros(1_700_000_000_000_003), &Fixed(0));
        assert!(early < late);
        assert_eq!(early.get_version_num(), 7);
    }

    #[test]
    fn ids_have_one_spelling() {
        let id = random(&Fixed(77)).to_string();
        assert!(id.parse::<ExecutionId>().is_ok());
        assert!(id.replace('-', "").parse::<ExecutionId>().is_err());
        assert!(format!("{{{id}}}").parse::<ExecutionId>().is_err());
    }
}
