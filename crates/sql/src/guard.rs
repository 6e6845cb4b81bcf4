//! What a statement may be, decided from its text alone when a schema is saved.
//!
//! One statement, of a kind that can neither end the transaction it runs in nor leave something behind on a connection
//! that others will use. It is the first of two lines: the databases are asked to watch the same things at run time.

use crate::lexer::{Dialect, Token, TokenKind, UnclosedToken, tokens};

/// The table in the user's database that remembers what was done.
pub(crate) const APPLIED: &str = "pawl_applied";

/// Why a statement is refused, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub message: String,
    pub hint: String,
}

impl Problem {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
        }
    }
}

/// What a statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Gives rows and counts nothing as affected.
    Read,
    /// Changes rows, and says how many.
    Write,
    /// Tables and the like.
    Define,
}

const TRANSACTION: &str = "the node itself begins, commits and rolls back the one transaction of its statements; \
                           a failed `expect` rolls back";
const SETTINGS: &str = "settings and identity belong to the connection; set them for the role in the database \
                        (ALTER ROLE … SET …)";
const OUTSIDE: &str =
    "it acts outside of the transaction, so it cannot be undone or done exactly once";
const SESSION: &str = "it would stay with a connection that other workflows use";
const HIDDEN: &str = "what it runs cannot be seen here, and may end the transaction; write the statements themselves";
const FILES: &str = "statements of a workflow reach tables, not files or programs";

/// First words that are refused, each with its reason.
const REFUSED: &[(&str, &str)] = &[
    ("BEGIN", TRANSACTION),
    ("START", TRANSACTION),
    ("COMMIT", TRANSACTION),
    ("END", TRANSACTION),
    ("ROLLBACK", TRANSACTION),
    ("ABORT", TRANSACTION),
    ("SAVEPOINT", TRANSACTION),
    ("RELEASE", TRANSACTION),
    ("PREPARE", TRANSACTION),
    ("EXECUTE", HIDDEN),
    ("DEALLOCATE", SESSION),
    ("SET", SETTINGS),
    ("RESET", SETTINGS),
    ("SHOW", SETTINGS),
    ("DISCARD", SETTINGS),
    (
        "PRAGMA",
        "settings of the file and its connections are not for workflows",
    ),
    ("LISTEN", SESSION),
    ("UNLISTEN", SESSION),
    ("DECLARE", SESSION),
    ("FETCH", SESSION),
    ("MOVE", SESSION),
    ("CLOSE", SESSION),
    (
        "NOTIFY",
        "it takes no parameters; write SELECT pg_notify($1, $2)",
    ),
    ("COPY", FILES),
    ("LOAD", FILES),
    ("ATTACH", FILES),
    ("DETACH", FILES),
    ("DO", HIDDEN),
    ("CALL", HIDDEN),
    ("VACUUM", OUTSIDE),
    ("CHECKPOINT", OUTSIDE),
    ("CLUSTER", OUTSIDE),
    ("REINDEX", OUTSIDE),
    ("GRANT", "rights are given by people, not by workflows"),
    ("REVOKE", "rights are given by people, not by workflows"),
    ("REASSIGN", "rights are given by people, not by workflows"),
    ("SECURITY", "rights are given by people, not by workflows"),
    (
        "EXPLAIN",
        "plans are for people; ask for them in the database's own shell",
    ),
];

/// Functions that do what a refused statement does, each with its reason. Their names are refused wherever they stand:
/// PostgreSQL calls `f(x)` for `(x).f` too.
const REFUSED_FUNCTIONS: &[(&str, &str)] = &[
    ("set_config", SETTINGS),
    (
        "pg_advisory_lock",
        "it outlives the transaction; write pg_advisory_xact_lock",
    ),
    (
        "pg_advisory_lock_shared",
        "it outlives the transaction; write pg_advisory_xact_lock_shared",
    ),
    (
        "pg_try_advisory_lock",
        "it outlives the transaction; write pg_try_advisory_xact_lock",
    ),
    (
        "pg_try_advisory_lock_shared",
        "it outlives the transaction; write pg_try_advisory_xact_lock_shared",
    ),
    ("dblink", OUTSIDE),
    ("pg_terminate_backend", OUTSIDE),
    ("pg_cancel_backend", OUTSIDE),
    ("pg_reload_conf", OUTSIDE),
    ("pg_promote", OUTSIDE),
    ("pg_switch_wal", OUTSIDE),
    ("pg_stat_file", FILES),
    ("pg_current_logfile", FILES),
    ("load_extension", FILES),
    ("readfile", FILES),
    ("writefile", FILES),
    ("ts_stat", HIDDEN),
    ("ts_rewrite", HIDDEN),
    ("connectby", HIDDEN),
    ("xpath_table", HIDDEN),
    ("setseed", SESSION),
];

/// Beginnings of names of such functions.
const REFUSED_FAMILIES: &[(&str, &str)] = &[
    ("dblink_", OUTSIDE),
    ("pg_rotate_logfile", OUTSIDE),
    ("pg_replication_origin_", OUTSIDE),
    ("pg_replication_slot_", OUTSIDE),
    ("pg_create_", OUTSIDE),
    ("pg_drop_replication_slot", OUTSIDE),
    ("pg_logical_emit_message", OUTSIDE),
    ("pg_logical_slot_", OUTSIDE),
    ("pg_backup_", OUTSIDE),
    ("pg_wal_replay_", OUTSIDE),
    ("pg_stat_reset", OUTSIDE),
    ("pg_read_", FILES),
    ("pg_ls_", FILES),
    ("pg_file_write", FILES),
    ("pg_file_read", FILES),
    ("pg_file_rename", FILES),
    ("pg_file_unlink", FILES),
    ("lo_import", FILES),
    ("lo_export", FILES),
    ("query_to_xml", HIDDEN),
    ("table_to_xml", HIDDEN),
    ("schema_to_xml", HIDDEN),
    ("database_to_xml", HIDDEN),
    ("cursor_to_xml", HIDDEN),
    ("crosstab", HIDDEN),
];

/// Functions, and what looks like one, in a statement for SQLite.
const CALLS_MAX: usize = 120;

const READS: &[&str] = &["SELECT", "VALUES", "TABLE"];
const WRITES: &[&str] = &["INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE"];
const DEFINES: &[&str] = &[
    "CREATE", "ALTER", "DROP", "TRUNCATE", "LOCK", "ANALYZE", "REFRESH", "COMMENT",
];
/// What may be made, changed and removed. Code and rights belong into the database's own migrations.
const DEFINABLE: &[&str] = &["TABLE", "INDEX", "VIEW", "SEQUENCE", "TYPE", "SCHEMA"];
/// Words between CREATE and what is created.
const QUALIFIERS: &[&str] = &[
    "OR",
    "REPLACE",
    "TEMP",
    "TEMPORARY",
    "UNIQUE",
    "UNLOGGED",
    "RECURSIVE",
    "MATERIALIZED",
    "GLOBAL",
    "LOCAL",
];

/// The tokens of the one statement, without what ends it.
pub(crate) fn one_statement(text: &str, dialect: Dialect) -> Result<Vec<Token<'_>>, Problem> {
    if text.contains('\0') {
        return Err(Problem::new(
            "there is a NUL character in the statement",
            "remove it; databases stop reading there",
        ));
    }
    let mut found = tokens(text, dialect).map_err(|UnclosedToken(what)| {
        Problem::new(
            format!("{what} in the statement never ends"),
            "close it; a quote inside a string is written twice",
        )
    })?;
    while found
        .last()
        .is_some_and(|token| token.kind == TokenKind::End)
    {
        found.pop();
    }
    if found.is_empty() {
        return Err(Problem::new(
            "the statement is empty",
            "write the SQL of one statement",
        ));
    }
    if found.iter().any(|token| token.kind == TokenKind::End) {
        return Err(Problem::new(
            "there is more than one statement in the text",
            "make each statement an entry of `statements`; they run in one transaction anyway",
        ));
    }
    Ok(found)
}

/// What the statement does, if that is allowed.
pub(crate) fn verb(tokens: &[Token<'_>], dialect: Dialect) -> Result<Verb, Problem> {
    refuse_names(tokens, dialect)?;
    match dialect {
        Dialect::Postgres => refuse_catalogs(tokens)?,
        Dialect::Sqlite => refuse_crowds(tokens)?,
    }
    let first = tokens
        .iter()
        .position(|token| token.kind != TokenKind::Open);
    let Some(first) = first.map(|index| &tokens[index..]) else {
        return Err(unknown("("));
    };
    let word = first[0];
    let is_one_of = |words: &[&str]| words.iter().any(|known| word.is(known));
    if word.is("WITH") {
        return with_verb(first);
    }
    if is_one_of(READS) {
        return Ok(Verb::Read);
    }
    if is_one_of(WRITES) {
        return Ok(Verb::Write);
    }
    if is_one_of(DEFINES) {
        return definition(first, dialect);
    }
    match REFUSED.iter().find(|(known, _)| word.is(known)) {
        Some((known, reason)) => Err(Problem::new(
            format!("{known} is refused in a statement"),
            *reason,
        )),
        None => Err(unknown(word.text)),
    }
}

fn unknown(word: &str) -> Problem {
    Problem::new(
        format!("a statement cannot begin with `{}`", word.escape_debug()),
        "write SELECT, INSERT, UPDATE, DELETE, MERGE, VALUES, WITH …, LOCK TABLE, TRUNCATE, or CREATE, ALTER and DROP \
         of tables, indexes, views, sequences and types",
    )
}

/// The word after the list of WITH: the first known one outside of brackets that does not name a part of the list.
fn with_verb(tokens: &[Token<'_>]) -> Result<Verb, Problem> {
    let mut depth = 0_i32;
    for (before, token) in tokens.iter().zip(&tokens[1..]) {
        match token.kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth -= 1,
            TokenKind::Word if depth == 0 => {
                let names = before.is("WITH") || before.is("RECURSIVE") || before.text == ",";
                if !names && WRITES.iter().any(|word| token.is(word)) {
                    return Ok(Verb::Write);
                }
                if !names && READS.iter().any(|word| token.is(word)) {
                    return Ok(Verb::Read);
                }
            }
            _ => {}
        }
    }
    // `WITH x AS (…) (SELECT …)`: whatever is in the last brackets, it is a query.
    Ok(Verb::Read)
}

fn definition(tokens: &[Token<'_>], dialect: Dialect) -> Result<Verb, Problem> {
    let word = tokens[0];
    if ["TRUNCATE", "LOCK", "ANALYZE", "COMMENT"]
        .iter()
        .any(|known| word.is(known))
    {
        return Ok(Verb::Define);
    }
    refuse_within(tokens)?;
    match dialect {
        Dialect::Postgres => refuse_settings_views(tokens)?,
        Dialect::Sqlite => refuse_temporary(tokens)?,
    }
    let what = tokens[1..]
        .iter()
        .find(|token| !QUALIFIERS.iter().any(|known| token.is(known)));
    match what {
        Some(what) if DEFINABLE.iter().any(|known| what.is(known)) => Ok(Verb::Define),
        what => Err(Problem::new(
            format!(
                "{} {} is refused in a statement",
                word.text.to_uppercase(),
                what.map_or(String::new(), |what| what.text.to_uppercase())
            ),
            "a workflow may define tables, indexes, views, sequences, types and schemas; code, roles and extensions \
             belong into the database's own migrations",
        )),
    }
}

/// SQLite computes all that is in one row without looking at the clock, and keeps it.
fn refuse_crowds(tokens: &[Token<'_>]) -> Result<(), Problem> {
    let pairs = tokens.windows(2);
    let makes = |pair: &&[Token<'_>]| {
        let [before, token] = pair else { return false };
        let calls = before.name().is_some() && token.kind == TokenKind::Open;
        let joins = before.text == "|" && token.text == "|" && before.end() == token.start;
        calls || joins
    };
    let count = pairs.filter(makes).count();
    if count <= CALLS_MAX {
        return Ok(());
    }
    Err(Problem::new(
        format!("there are {count} calls of functions and `||` in the statement"),
        format!("{CALLS_MAX} is the most; use several statements, or `for_each` for many rows"),
    ))
}

/// `CREATE TABLE … AS EXECUTE …` and `CREATE SCHEMA … GRANT …` hold other statements.
fn refuse_within(tokens: &[Token<'_>]) -> Result<(), Problem> {
    for pair in tokens.windows(2) {
        let [before, token] = pair else { continue };
        let refused = (before.is("AS") && token.is("EXECUTE"))
            || token.is("GRANT")
            || (before.is("CREATE") && ["TRIGGER", "CONSTRAINT"].iter().any(|word| token.is(word)));
        if refused {
            return Err(Problem::new(
                format!("{} is refused in a statement", token.text.to_uppercase()),
                HIDDEN,
            ));
        }
    }
    Ok(())
}

/// `UPDATE` of a view over `pg_settings` sets what SET sets, and its text does not show it.
fn refuse_settings_views(tokens: &[Token<'_>]) -> Result<(), Problem> {
    let is_named = |token: &Token<'_>| {
        let name = token.name();
        name.is_some_and(|name| name.eq_ignore_ascii_case("pg_settings"))
    };
    let defines_view = tokens.iter().any(|token| token.is("VIEW"));
    match defines_view && tokens.iter().any(is_named) {
        false => Ok(()),
        true => Err(Problem::new(
            "a view over `pg_settings` is refused",
            SETTINGS,
        )),
    }
}

/// PostgreSQL drops such things when a connection changes hands. The one connection that writes to a SQLite file looks
/// into `temp` first, so there a table of that name would stand before the real one for every workflow.
fn refuse_temporary(tokens: &[Token<'_>]) -> Result<(), Problem> {
    let head = tokens[1..]
        .iter()
        .take_while(|token| token.kind != TokenKind::Open && !token.is("AS"));
    let head: Vec<_> = head.collect();
    let qualifier = |token: &&&Token<'_>| token.is("TEMP") || token.is("TEMPORARY");
    let is_temp = |token: &Token<'_>| {
        let name = token.name();
        name.is_some_and(|name| name.eq_ignore_ascii_case("temp"))
    };
    let is_first = head.first().filter(qualifier).is_some();
    let is_path = |pair: &[&Token<'_>]| is_temp(pair[0]) && pair[1].text == ".";
    match is_first || head.windows(2).any(is_path) {
        false => Ok(()),
        true => Err(Problem::new("`temp` is refused in a statement", SESSION)),
    }
}

fn refuse_names(tokens: &[Token<'_>], dialect: Dialect) -> Result<(), Problem> {
    for (index, token) in tokens.iter().enumerate() {
        let Some(name) = token.name() else { continue };
        if name.eq_ignore_ascii_case(APPLIED) {
            return Err(Problem::new(
                format!("the statement mentions `{APPLIED}`"),
                "that table is how Pawl knows what was done; statements leave it alone",
            ));
        }
        if let Some(reason) = refused_function(&name) {
            return Err(Problem::new(
                format!(
                    "the function {} is refused in a statement",
                    name.escape_debug()
                ),
                reason,
            ));
        }
        if dialect == Dialect::Postgres && is_coded_name(tokens, index) {
            return Err(Problem::new(
                "a name is written in codes (U&\"…\")",
                "write the name itself, in double quotes if need be",
            ));
        }
    }
    Ok(())
}

fn refused_function(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let functions = REFUSED_FUNCTIONS.iter().find(|(known, _)| *known == name);
    let mut families = REFUSED_FAMILIES.iter();
    let refused = functions.or_else(|| families.find(|(beginning, _)| name.starts_with(beginning)));
    refused.map(|(_, reason)| *reason)
}

/// `UPDATE pg_settings` sets what SET sets, and a write to a catalog changes what everything means.
fn refuse_catalogs(tokens: &[Token<'_>]) -> Result<(), Problem> {
    for (index, token) in tokens.iter().enumerate() {
        let deletes = token.is("FROM") && index > 0 && tokens[index - 1].is("DELETE");
        if !token.is("UPDATE") && !token.is("INTO") && !deletes {
            continue;
        }
        let target = tokens[index + 1..].iter().filter(|token| !token.is("ONLY"));
        let path = target.take_while(|token| token.name().is_some() || token.text == ".");
        // `pg_catalog.t AS x`: two names side by side are not one path.
        let mut names: Vec<String> = Vec::new();
        let mut joined = true;
        for token in path {
            match token.name() {
                Some(name) if joined => names.push(name),
                Some(_) => break,
                None => {}
            }
            joined = token.text == ".";
        }
        if let Some(name) = names.iter().find(|name| is_of_a_catalog(name)) {
            return Err(Problem::new(
                format!("`{}` belongs to the database itself", name.escape_debug()),
                "a workflow writes to tables of its own; settings and catalogs are for people",
            ));
        }
    }
    Ok(())
}

fn is_of_a_catalog(name: &str) -> bool {
    (name.starts_with("pg_") && name != "pg_temp") || name == "information_schema"
}

/// `U&"\0061"`: no reader can see what it names.
fn is_coded_name(tokens: &[Token<'_>], index: usize) -> bool {
    let Some(start) = index.checked_sub(2) else {
        return false;
    };
    let [letter, and, name] = [&tokens[start], &tokens[start + 1], &tokens[index]];
    name.kind == TokenKind::QuotedName
        && letter.is("U")
        && and.text == "&"
        && letter.end() == and.start
        && and.end() == name.start
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [Dialect; 2] = [Dialect::Postgres, Dialect::Sqlite];

    fn judged(text: &str, dialect: Dialect) -> Result<Verb, Problem> {
        verb(&one_statement(text, dialect)?, dialect)
    }

    #[test]
    fn statements_of_data_are_let_through() {
        let cases = [
            ("SELECT 1", Verb::Read),
            ("  -- why\n select 'COMMIT; DROP' ;; ", Verb::Read),
            ("(SELECT 1) UNION (SELECT 2)", Verb::Read),
            ("VALUES (1)", Verb::Read),
            ("INSERT INTO t VALUES (1) RETURNING a", Verb::Write),
            ("update t set a = 1", Verb::Write),
            ("DELETE FROM t", Verb::Write),
            ("WITH a AS (SELECT 1) SELECT * FROM a", Verb::Read),
            (
                "WITH RECURSIVE a(x) AS (SELECT 1), b AS (SELECT 2) UPDATE t SET a = 1",
                Verb::Write,
            ),
            (
                "WITH update AS (DELETE FROM t RETURNING a) SELECT a FROM update",
                Verb::Read,
            ),
            ("WITH a AS (SELECT 1) (SELECT * FROM a)", Verb::Read),
            ("CREATE TABLE t (a int)", Verb::Define),
            ("CREATE UNIQUE INDEX i ON t (a)", Verb::Define),
            ("DROP TABLE IF EXISTS t", Verb::Define),
            ("LOCK TABLE t IN SHARE MODE", Verb::Define),
            ("SELECT commit, \"set\" FROM begin", Verb::Read),
        ];
        for (text, verb) in cases {
            for dialect in BOTH {
                assert_eq!(judged(text, dialect), Ok(verb), "{text}");
            }
        }
    }

    #[test]
    fn what_ends_the_transaction_or_changes_the_connection_is_refused() {
        let words = [
            "BEGIN",
            "begin immediate",
            "START TRANSACTION",
            "COMMIT",
            "/* x */ COMMIT",
            "END",
            "ROLLBACK",
            "ABORT",
            "SAVEPOINT a",
            "RELEASE a",
            "PREPARE TRANSACTION 'x'",
            "EXECUTE a",
            "SET ROLE admin",
            "SET SESSION AUTHORIZATION x",
            "set local statement_timeout = 0",
            "RESET ALL",
            "DISCARD ALL",
            "LISTEN a",
            "NOTIFY a",
            "COPY t TO PROGRAM 'sh'",
            "DO $$ BEGIN COMMIT; END $$",
            "CALL p()",
            "VACUUM",
            "ATTACH 'x' AS y",
            "DETACH y",
            "PRAGMA writable_schema = 1",
            "LOAD 'x'",
            "GRANT ALL ON t TO x",
            "CREATE FUNCTION f() RETURNS int AS 'x' LANGUAGE c",
            "CREATE EXTENSION dblink",
            "CREATE ROLE x",
            "ALTER SYSTEM SET a = 1",
            "ALTER ROLE x SUPERUSER",
            "CREATE TRIGGER x",
            "DROP DATABASE x",
            "CREATE VIRTUAL TABLE x USING y",
            "CREATE OR REPLACE PROCEDURE p()",
            "EXPLAIN ANALYZE SELECT 1",
            "DECLARE c CURSOR FOR SELECT 1",
            "FETCH c",
            "xyzzy",
            "1",
            "( ( (",
        ];
        for text in words {
            for dialect in BOTH {
                assert!(judged(text, dialect).is_err(), "{text}");
            }
        }
    }

    #[test]
    fn a_refusal_says_what_and_why() {
        let problem = judged("COMMIT", Dialect::Postgres).unwrap_err();
        assert_eq!(problem.message, "COMMIT is refused in a statement");
        assert!(problem.hint.contains("the node itself"), "{}", problem.hint);
    }

    #[test]
    fn only_one_statement() {
        for text in ["SELECT 1; SELECT 2", "SELECT 1; COMMIT", "; SELECT 1"] {
            for dialect in BOTH {
                let problem = judged(text, dialect).unwrap_err();
                assert!(problem.message.contains("more than one"), "{text}");
            }
        }
        // What looks like one statement to one dialect may be two to the other.
        let text = r"SELECT 'a\'; SELECT 'b'";
        assert!(judged(text, Dialect::Postgres).is_err());
        let text = r"SELECT E'a\'; COMMIT; --'";
        assert!(judged(text, Dialect::Postgres).is_ok());
        assert!(judged(text, Dialect::Sqlite).is_err());
        assert!(judged("SELECT 1\0; COMMIT", Dialect::Sqlite).is_err());
        for text in ["", "  ", "-- x", ";"] {
            assert!(judged(text, Dialect::Sqlite).is_err(), "{text}");
        }
    }

    #[test]
    fn our_table_and_dangerous_functions_are_refused_however_they_are_spelled() {
        let texts = [
            "DELETE FROM pawl_applied",
            "DELETE FROM public.\"pawl_applied\"",
            "DELETE FROM PAWL_APPLIED",
            "SELECT set_config('role', 'x', true)",
            "SELECT pg_catalog.\"set_config\" ('role', 'x', true)",
            "SELECT pg_read_file('/etc/passwd')",
            "SELECT pg_advisory_lock(1)",
            "SELECT load_extension('x')",
        ];
        for text in texts {
            for dialect in BOTH {
                assert!(judged(text, dialect).is_err(), "{text}");
            }
        }
        assert!(judged("DELETE FROM U&\"p\\0061wl\"", Dialect::Postgres).is_err());
        assert!(judged("DELETE FROM [pawl_applied]", Dialect::Sqlite).is_err());
        assert!(judged("DELETE FROM `pawl_applied`", Dialect::Sqlite).is_err());
        assert!(judged("SELECT 'pawl_applied', 'dblink' FROM t", Dialect::Postgres).is_ok());
    }

    #[test]
    fn functions_are_refused_without_brackets_too() {
        for text in [
            "SELECT (42::bigint).pg_advisory_lock",
            "SELECT (42::bigint).\"pg_advisory_lock\"",
            "SELECT (pid).pg_terminate_backend FROM pg_stat_activity",
            "SELECT (a.pid).pg_cancel_backend FROM pg_stat_activity a",
            "SELECT ('SELECT 1'::text).ts_stat",
            "SELECT ts_rewrite('a'::tsquery, 'SELECT 1')",
            "SELECT table_to_xml_and_xmlschema('t', true, true, '')",
            "SELECT schema_to_xml('s', true, true, '')",
            "SELECT database_to_xmlschema(true, true, '')",
            "SELECT cursor_to_xml('c', 1, true, true, '')",
            "SELECT pg_ls_logdir()",
            "SELECT pg_read_binary_file('x')",
            "SELECT lo_import('/etc/passwd')",
            "SELECT pg_reload_conf()",
            "SELECT pg_rotate_logfile()",
            "SELECT dblink_connect('x')",
            "CREATE TABLE x (a int DEFAULT pg_read_file('x')::int)",
        ] {
            assert!(judged(text, Dialect::Postgres).is_err(), "{text}");
        }
        for text in [
            "SELECT replace, instr, lo_fi, dblinks FROM ts_stats",
            "SELECT pg_sleep(1), pg_advisory_xact_lock(1), pg_notify('a', 'b')",
            "SELECT 'pg_read_file'",
        ] {
            assert!(judged(text, Dialect::Postgres).is_ok(), "{text}");
        }
    }

    #[test]
    fn catalogs_are_read_only() {
        for text in [
            "UPDATE pg_settings SET setting = '0' WHERE name = 'statement_timeout'",
            "UPDATE ONLY pg_catalog.pg_settings AS s SET setting = '0'",
            "UPDATE \"pg_settings\" SET setting = '0'",
            "WITH x AS (UPDATE pg_settings SET setting = '0' RETURNING 1) SELECT * FROM x",
            "DELETE FROM pg_catalog.pg_class",
            "INSERT INTO information_schema.sql_features VALUES (1)",
            "MERGE INTO pg_authid USING x ON true WHEN MATCHED THEN DELETE",
        ] {
            assert!(judged(text, Dialect::Postgres).is_err(), "{text}");
        }
        for text in [
            "SELECT setting FROM pg_settings",
            "INSERT INTO t SELECT name FROM pg_settings",
            "SELECT a FROM t FOR UPDATE",
            "SELECT a FROM t FOR UPDATE OF t",
            "INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2",
            "UPDATE t SET pg_name = 1",
            "DELETE FROM t USING pg_class",
        ] {
            assert!(judged(text, Dialect::Postgres).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_statement_for_sqlite_does_not_do_everything_at_once() {
        for part in ["length(?1) + ", "?1 || "] {
            let text = |count: usize| format!("SELECT {}1", part.repeat(count));
            assert!(judged(&text(CALLS_MAX), Dialect::Sqlite).is_ok());
            let problem = judged(&text(CALLS_MAX + 1), Dialect::Sqlite).unwrap_err();
            let count = (CALLS_MAX + 1).to_string();
            assert!(problem.message.contains(&count), "{}", problem.message);
            assert!(judged(&text(CALLS_MAX + 1), Dialect::Postgres).is_ok());
        }
    }

    #[test]
    fn nothing_temporary_is_made_on_the_one_connection_that_writes_to_a_file() {
        for text in [
            "CREATE TABLE temp.stock AS SELECT * FROM main.stock",
            "CREATE TABLE IF NOT EXISTS TEMP . stock (a)",
            "CREATE TABLE \"temp\".stock (a)",
            "CREATE TABLE [Temp].stock (a)",
            "CREATE TABLE `temp`.stock (a)",
            "CREATE VIEW temp.v AS SELECT 1",
            "CREATE UNIQUE INDEX temp.i ON t (a)",
            "CREATE TEMP TABLE stock (a)",
            "CREATE TEMPORARY VIEW v AS SELECT 1",
            "DROP TABLE temp.stock",
            "ALTER TABLE temp.stock ADD COLUMN b",
        ] {
            let problem = judged(text, Dialect::Sqlite).unwrap_err();
            assert!(
                problem.message.contains("`temp`"),
                "{text}: {}",
                problem.message
            );
        }
        for text in [
            "CREATE VIEW v AS SELECT temp.a FROM readings AS temp",
            "CREATE TABLE readings (temp, temperature)",
            "CREATE TABLE temp (a)",
            "SELECT temp.a FROM readings AS temp",
        ] {
            assert!(judged(text, Dialect::Sqlite).is_ok(), "{text}");
        }
        assert!(judged("CREATE TEMP TABLE x (a int)", Dialect::Postgres).is_ok());
    }

    #[test]
    fn settings_are_not_reached_through_a_view() {
        for text in [
            "CREATE VIEW v AS SELECT name, setting FROM pg_settings",
            "CREATE OR REPLACE VIEW v AS SELECT * FROM pg_catalog.pg_settings",
            "CREATE TEMP VIEW v AS SELECT * FROM \"pg_settings\"",
            "CREATE VIEW v AS WITH s AS (SELECT * FROM PG_SETTINGS) SELECT * FROM s",
            "CREATE SCHEMA s CREATE VIEW v AS SELECT * FROM pg_settings",
        ] {
            let problem = judged(text, Dialect::Postgres).unwrap_err();
            assert!(
                problem.message.contains("pg_settings"),
                "{text}: {}",
                problem.message
            );
        }
        for text in [
            "CREATE TABLE seen AS SELECT name, setting FROM pg_settings",
            "CREATE VIEW v AS SELECT 'pg_settings' AS name",
        ] {
            assert!(judged(text, Dialect::Postgres).is_ok(), "{text}");
        }
    }

    #[test]
    fn definitions_hold_no_other_statements() {
        for text in [
            "CREATE TABLE x AS EXECUTE s1",
            "CREATE MATERIALIZED VIEW x AS EXECUTE s1",
            "CREATE SCHEMA x GRANT ALL ON t TO y",
            "CREATE SCHEMA x CREATE TABLE t (a int) CREATE TRIGGER y AFTER INSERT ON t EXECUTE FUNCTION f()",
        ] {
            for dialect in BOTH {
                assert!(judged(text, dialect).is_err(), "{text}");
            }
        }
        assert!(
            judged(
                "CREATE TABLE x (execute int, trigger int)",
                Dialect::Postgres
            )
            .is_ok()
        );
    }
}
