//! Searching for what stands at a place in payloads. No index knows that: the receipts that pass all other filters are walked,
//! newest first, and their payloads are looked into, so many bytes a page.

use std::collections::HashSet;

use bytes::Bytes;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{OperateError, ReceiptQuery, Result, page::text_of};
use crate::{
    blueprint::Blueprint,
    provider::{Provider, json_of},
    route::{FILTERED_BYTES_MAX, PayloadPath},
    store::{
        payload_batches::{Sized, payload_sizes, payloads_of},
        receipt_search::{ReceiptCriteria, search_receipts},
        receipt_story::Payload,
        walk::Walked,
    },
};

/// Payload bytes that one page looks into: they are unpacked and parsed.
const BYTES_MAX: usize = 16 << 20;
/// Receipts that one page looks into.
const LOOKED_INTO_MAX: usize = 5_000;
/// Receipts at a time.
const BATCH: usize = 500;
/// Payload bytes at a time, which are in memory together; one large body may be more.
const BATCH_BYTES_MAX: usize = 4 << 20;

/// What is looked for, and where.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    path: PayloadPath,
    value: String,
}

impl Wanted {
    /// What the query asks for, if it does.
    pub(super) fn of(query: &ReceiptQuery) -> Result<Option<Self>> {
        let (path, value) = (text_of("path", query.path.as_ref())?, query.value.clone());
        match (path, value) {
            (None, None) => Ok(None),
            (None, Some(value)) if value.is_empty() => Ok(None),
            (Some(path), value) => {
                let value = value.ok_or_else(|| OperateError::Invalid {
                    field: "value",
                    problem: "there is a path, and nothing that should stand there".to_owned(),
                    instead: "give both, such as path=repository.full_name and value=octo/repo".to_owned(),
                })?;
                let path = PayloadPath::parse(&path).map_err(|mistake| OperateError::Invalid {
                    field: "path",
                    problem: mistake.problem,
                    instead: mistake.instead,
                })?;
                Ok(Some(Self { path, value }))
            }
            (None, Some(_)) => Err(OperateError::Invalid {
                field: "path",
                problem: "there is a value, and no place where it should stand".to_owned(),
                instead: "give both, such as path=repository.full_name and value=octo/repo".to_owned(),
            }),
        }
    }

    /// Bytes that stand in every plain JSON that has the value somewhere, if they are sure.
    fn sure_bytes(&self) -> Option<&[u8]> {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.: ".contains(byte);
        (!self.value.is_empty() && self.value.as_bytes().iter().all(is_plain)).then_some(self.value.as_bytes())
    }
}

/// One page of the receipts that pass and whose payload has what is wanted.
pub(super) async fn search_payloads(
    conn: &mut PgConnection,
    blueprint: &Blueprint,
    criteria: &ReceiptCriteria,
    wanted: &Wanted,
    mut before: Option<Uuid>,
    limit: usize,
) -> Result<Walked<Uuid>> {
    let (mut found, mut bytes, mut receipts) = (Vec::new(), 0, 0);
    loop {
        let walked = search_receipts(conn, criteria, before, BATCH as i64).await?;
        for batch in batches(payload_sizes(conn, &walked.found).await?) {
            let matching = matching(conn, blueprint, &batch, wanted).await?;
            for one in &batch {
                if matching.contains(&one.id) {
                    found.push(one.id);
                }
                if found.len() >= limit {
                    return Ok(Walked { found, next: Some(one.id) });
                }
                bytes += size(one);
                receipts += 1;
            }
            if let Some(last) = batch.last()
                && (bytes >= BYTES_MAX || receipts >= LOOKED_INTO_MAX)
            {
                return Ok(Walked { found, next: Some(last.id) });
            }
        }
        // A walk that found fewer than a batch was at its end, or has passed as many receipts as a page may.
        if walked.next.is_none() || walked.found.len() < BATCH {
            return Ok(Walked { found, next: walked.next });
        }
        before = walked.next;
    }
}

fn size(one: &Sized) -> usize {
    usize::try_from(one.body_bytes).unwrap_or(0)
}

/// In order, each no larger than is read at a time.
fn batches(all: Vec<Sized>) -> Vec<Vec<Sized>> {
    let mut batches: Vec<Vec<Sized>> = Vec::new();
    let mut bytes = 0;
    for one in all {
        bytes += size(&one);
        match batches.last_mut() {
            Some(batch) if bytes <= BATCH_BYTES_MAX => batch.push(one),
            _ => {
                bytes = size(&one);
                batches.push(vec![one]);
            }
        }
    }
    batches
}

async fn matching(
    conn: &mut PgConnection,
    blueprint: &Blueprint,
    batch: &[Sized],
    wanted: &Wanted,
) -> Result<HashSet<Uuid>> {
    // Routes do not look into longer ones either.
    let ids: Vec<Uuid> = batch.iter().filter(|one| size(one) <= FILTERED_BYTES_MAX).map(|one| one.id).collect();
    let payloads = payloads_of(conn, &ids, wanted.sure_bytes()).await?;
    let provider = |id: &Uuid| {
        let source = batch.iter().find(|one| one.id == *id).and_then(|one| blueprint.source(&one.source));
        // A source that is not configured any more: GitHub's is the only form that is unwrapped, by its content type.
        source.map_or(Provider::GitHub, |source| source.provider)
    };
    let work: Vec<(Uuid, Provider, Payload)> =
        payloads.into_iter().map(|(id, payload)| (id, provider(&id), payload)).collect();
    let wanted = wanted.clone();
    let look = move || {
        let holds = |(id, provider, payload): (Uuid, Provider, Payload)| {
            let json = json_of(provider, &payload.headers, &Bytes::from(payload.body));
            wanted.path.holds(&json, &wanted.value).then_some(id)
        };
        work.into_iter().filter_map(holds).collect()
    };
    Ok(tokio::task::spawn_blocking(look).await.expect("looking does not panic, and is not aborted"))
}
