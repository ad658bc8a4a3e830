//! What a function is told about its delivery: takes a parcel, gives the object that becomes its first argument.

use std::collections::BTreeMap;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use crate::{deliver::Parcel, domain::OrderingKey};

/// docs/sql-destination.md lists the members; one that has no value is null.
pub(super) fn of(parcel: &Parcel) -> Value {
    json!({
        "receipt": parcel.receipt.to_string(),
        "delivery": parcel.delivery.to_string(),
        "attempt": parcel.attempt,
        "source": parcel.source.as_str(),
        "delivery_id": parcel.delivery_id.as_str(),
        "event_type": parcel.event_type.as_str(),
        "ordering_key": parcel.ordering_key.as_ref().map(OrderingKey::as_str),
        "event_time": parcel.event_time.map(text_of),
        "received_at": text_of(parcel.received_at),
        "is_stale": parcel.is_stale,
        "headers": headers(parcel),
    })
}

fn text_of(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Micros, true)
}

/// By name in small letters; lines of one name are joined, as HTTP means them. jsonb takes no NUL, and only UTF-8.
fn headers(parcel: &Parcel) -> BTreeMap<&str, String> {
    let mut headers = BTreeMap::<_, String>::new();
    for (name, value) in parcel.headers.iter() {
        let value = String::from_utf8_lossy(value).replace('\0', "\u{fffd}");
        headers.entry(name).and_modify(|held| *held = format!("{held}, {value}")).or_insert(value);
    }
    headers
}
