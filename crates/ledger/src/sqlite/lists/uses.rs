//! Attempt queries: the list that quotas count.

use haft_model::{DriverId, InvocationId, Timestamp};
use rusqlite::types::Value;
use rusqlite::{Connection, Result, Row, params_from_iter};

use super::{json, time};
use crate::sqlite::apply::nanos;
use crate::{Use, UseFilter};

const COLUMNS: &str = "seq, invocation, attempt, at, tool, driver, actor, tenant, charge";

/// The attempts that match a filter, in log order.
pub(crate) fn uses(db: &Connection, filter: &UseFilter) -> Result<Vec<Use>> {
    let (text, values) = query(filter);
    db.prepare_cached(&text)?.query_map(params_from_iter(values), used)?.collect()
}

/// Every attempt there is.
pub(crate) fn all(db: &Connection) -> Result<Vec<Use>> {
    let whole = UseFilter { after: None, since: Timestamp::MIN, actor: None, tenant: None };
    uses(db, &whole)
}

/// New attempts are few and come by sequence number; a query by time may cover a small part of all.
pub(super) fn query(filter: &UseFilter) -> (String, Vec<Value>) {
    let mut text = format!("SELECT {COLUMNS} FROM uses");
    let mut values = Vec::new();
    match filter.after {
        Some(after) => {
            text.push_str(" NOT INDEXED WHERE seq > ? AND at >= ?");
            values.push(Value::Integer(i64::try_from(after).unwrap_or(i64::MAX)));
        }
        None => text.push_str(" INDEXED BY uses_since WHERE at >= ?"),
    }
    values.push(Value::Integer(nanos(filter.since)));
    for (column, value) in [("tenant", &filter.tenant), ("actor", &filter.actor)] {
        if let Some(value) = value {
            text.push_str(&format!(" AND {column} = ?"));
            values.push(Value::Text(value.clone()));
        }
    }
    text.push_str(" ORDER BY seq, place");
    (text, values)
}

fn used(row: &Row<'_>) -> Result<Use> {
    let charge: Option<String> = row.get(8)?;
    Ok(Use {
        seq: u64::try_from(row.get::<_, i64>(0)?).unwrap_or_default(),
        invocation: InvocationId::from(row.get::<_, String>(1)?.as_str()),
        attempt: row.get(2)?,
        at: time(3, row.get(3)?)?,
        tool: row.get(4)?,
        driver: DriverId::from(row.get::<_, String>(5)?.as_str()),
        actor: row.get(6)?,
        tenant: row.get(7)?,
        charge: charge.map(|_| json(row, 8)).transpose()?.unwrap_or_default(),
    })
}
