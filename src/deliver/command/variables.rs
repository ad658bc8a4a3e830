//! What a program sees in its environment: takes a parcel, gives names and values. Nothing of our own environment is among
//! them, which may hold secrets.

use super::super::Parcel;
use crate::domain::OrderingKey;

/// Where a program finds others: system folders only, which nobody but root writes to.
pub(super) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Names and values, the same on each attempt but for the number of the attempt.
pub(super) fn of_attempt(parcel: &Parcel) -> impl Iterator<Item = (&'static str, String)> {
    let fixed = [
        ("PATH", PATH.to_owned()),
        ("ONCEHOOK_SOURCE", parcel.source.to_string()),
        ("ONCEHOOK_EVENT", parcel.event_type.to_string()),
        ("ONCEHOOK_RECEIPT", parcel.receipt.to_string()),
        ("ONCEHOOK_DELIVERY", parcel.delivery.to_string()),
        ("ONCEHOOK_DELIVERY_ID", parcel.delivery_id.to_string()),
        ("ONCEHOOK_ATTEMPT", parcel.attempt.to_string()),
        ("ONCEHOOK_STALE", parcel.is_stale.to_string()),
        ("ONCEHOOK_PAYLOAD_BYTES", parcel.body.len().to_string()),
    ];
    let ordering_key = parcel.ordering_key.as_ref().map(OrderingKey::to_string);
    let key = ordering_key.map(|key| ("ONCEHOOK_ORDERING_KEY", key));
    // The types of these values let no NUL in. Should one do so all the same, the event is not to suffer for it.
    fixed.into_iter().chain(key).map(|(name, value)| (name, value.replace('\0', "\u{fffd}")))
}
