//! What a query may do: read, for a while.
//!
//! A connection that cannot write would be enough for honest people; these bounds also hold for SQL
//! that somebody else wrote.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, Result};

use host::sys::clock;

/// SQLite's instructions from one look at the clock to the next: some microseconds.
const STEPS: i32 = 1000;
/// What may be asked of the schema.
const PRAGMAS: [&str; 10] = [
    "table_info",
    "table_xinfo",
    "table_list",
    "index_list",
    "index_info",
    "index_xinfo",
    "foreign_key_list",
    "function_list",
    "collation_list",
    "pragma_list",
];
/// What runs code of others, or reads what is no part of the store.
const FUNCTIONS: [&str; 3] = ["load_extension", "fts3_tokenizer", "readfile"];

/// Has SQLite sort in memory, which has a bound: its temporary files have none, and a query could
/// fill a disk. Tables that are temporary are lost by this.
pub(super) fn sort_in_memory(connection: &Connection) -> Result<()> {
    connection.pragma_update(None, "temp_store", "MEMORY")
}

/// Bounds that a query has besides those of every connection, as long as the connection lives.
pub(super) fn limit(connection: &Connection) -> Result<()> {
    connection.set_limit(Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000).map(|_| ())
}

/// Lets our own statements through again.
pub(super) fn lift(connection: &mut Connection) -> Result<()> {
    connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)
}

/// Watches over one query.
#[derive(Debug)]
pub(super) struct Watch {
    refused: Arc<Mutex<Option<String>>>,
    /// Tables that are read by themselves, not through a view.
    read: Arc<Mutex<BTreeSet<String>>>,
    time_ns: u64,
    end_ns: u64,
}

impl Watch {
    /// Lets nothing but reading through from now on, and nothing for longer than `time`.
    pub(super) fn set(connection: &mut Connection, time: Duration) -> Result<Watch> {
        connection.pragma_update(None, "query_only", true)?;
        let time_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let end_ns = clock::monotonic_ns().saturating_add(time_ns);
        connection.progress_handler(STEPS, Some(move || clock::monotonic_ns() > end_ns))?;
        let refused = Arc::new(Mutex::new(None));
        let tell = Arc::clone(&refused);
        let read = Arc::new(Mutex::new(BTreeSet::new()));
        let tables = Arc::clone(&read);
        connection.authorizer(Some(move |context: AuthContext<'_>| {
            if let AuthAction::Read { table_name, .. } = context.action
                && context.accessor.is_none()
                && let Ok(mut tables) = tables.lock()
            {
                tables.insert(table_name.to_lowercase());
            }
            let Some(what) = forbidden(&context.action) else { return Authorization::Allow };
            if let Ok(mut first) = tell.lock() {
                first.get_or_insert(what);
            }
            Authorization::Deny
        }))?;
        Ok(Watch { refused, read, time_ns, end_ns })
    }

    /// What it tried that it may not.
    pub(super) fn refused(&self) -> Option<String> {
        self.refused.lock().ok()?.clone()
    }

    /// Whether it read one of these tables, other than through a view.
    pub(super) fn has_read(&self, tables: &[&str]) -> bool {
        self.read.lock().is_ok_and(|read| tables.iter().any(|table| read.contains(*table)))
    }

    /// Whether its time is over.
    pub(super) fn is_over(&self) -> bool {
        clock::monotonic_ns() > self.end_ns
    }

    /// The time that it had.
    pub(super) fn time_ns(&self) -> u64 {
        self.time_ns
    }
}

/// What an action is called, where it is more than reading.
fn forbidden(action: &AuthAction<'_>) -> Option<String> {
    let is = |names: &[&str], name: &str| names.iter().any(|it| it.eq_ignore_ascii_case(name));
    Some(match action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => return None,
        AuthAction::Function { function_name } if !is(&FUNCTIONS, function_name) => return None,
        AuthAction::Pragma { pragma_name, .. } if is(&PRAGMAS, pragma_name) => return None,
        AuthAction::Function { function_name } => format!("the function {function_name}"),
        AuthAction::Pragma { pragma_name, .. } => format!("PRAGMA {pragma_name}"),
        AuthAction::Attach { .. } => "ATTACH".to_owned(),
        AuthAction::Detach { .. } => "DETACH".to_owned(),
        AuthAction::Transaction { .. } | AuthAction::Savepoint { .. } => "a transaction".to_owned(),
        AuthAction::Insert { table_name } => format!("writing to {table_name}"),
        AuthAction::Update { table_name, .. } => format!("writing to {table_name}"),
        AuthAction::Delete { table_name } => format!("deleting from {table_name}"),
        _ => "changing the store".to_owned(),
    })
}
