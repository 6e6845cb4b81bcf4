//! Two scenarios of seed 003 as one transaction each: merging a proposal under compare-and-swap, and a baseline of a
//! document. The same texts on both databases.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

#[macro_use]
mod support;

use futures_util::future::join_all;
use serde_json::{Value, json};
use support::{Bed, work};

const TABLES: &str = "
    CREATE TABLE atoms (id text PRIMARY KEY, status text NOT NULL, rev integer NOT NULL DEFAULT 1);
    CREATE TABLE structure_links (id text PRIMARY KEY, parent text NOT NULL, child text NOT NULL, rev integer NOT NULL DEFAULT 1);
    CREATE TABLE proposal_links (proposal text PRIMARY KEY, target text NOT NULL, outdated boolean NOT NULL DEFAULT false);
    CREATE TABLE revision_links (newer text NOT NULL, older text NOT NULL);
    CREATE TABLE baselines (id text PRIMARY KEY, doc text NOT NULL, tag text NOT NULL, UNIQUE (doc, tag));
    CREATE TABLE baseline_items (baseline text NOT NULL REFERENCES baselines (id), atom text NOT NULL);
    INSERT INTO atoms (id, status) VALUES ('a', 'active'), ('other', 'active');
    INSERT INTO structure_links (id, parent, child) VALUES
        ('s', 'doc', 'section'), ('e', 'section', 'a'), ('f', 'section', 'other');";

/// Scenario 3.2, from the checks to the answer.
fn merge(winner: &str, expected_rev: i64) -> Value {
    json!({"statements": [
        {"id": "winner", "sql": "SELECT id FROM atoms WHERE id = :w AND status = 'proposal'", "params": {"w": winner},
         "expect": "one", "error": "INVALID_STATUS"},
        {"id": "link", "sql": "SELECT target, outdated FROM proposal_links WHERE proposal = :w AND NOT outdated",
         "params": {"w": winner}, "expect": "one", "error": "OUTDATED_PROPOSAL"},
        {"id": "edge", "sql": "UPDATE structure_links SET child = :w, rev = rev + 1 WHERE id = 'e' AND rev = :rev \
                               AND child = :old RETURNING rev",
         "params": {"w": winner, "rev": expected_rev, "old": "=link.row.target"}, "expect": "one", "error": "REV_CONFLICT"},
        {"id": "status", "sql": "UPDATE atoms SET status = :status, rev = rev + 1 WHERE id = :id",
         "for_each": [{"status": "archived", "id": "a"}, {"status": "active", "id": winner}],
         "params": {"status": "=item.status", "id": "=item.id"}, "expect": "affected == 2"},
        {"id": "history", "sql": "INSERT INTO revision_links VALUES (:w, :old)",
         "params": {"w": winner, "old": "=link.row.target"}},
        {"id": "rebased", "sql": "UPDATE proposal_links SET target = :w, outdated = true WHERE target = :old \
                                  AND proposal <> :w RETURNING proposal",
         "params": {"w": winner, "old": "=link.row.target"}},
        {"id": "gone", "sql": "DELETE FROM proposal_links WHERE proposal = :w", "params": {"w": winner},
         "expect": "affected >= 1"},
    ]})
}

/// Scenario 3.3: forbidden edges, the baseline, and all active atoms below the document, to a depth of ten.
fn baseline(id: &str, tag: &str) -> Value {
    json!({"isolation": "repeatable_read", "statements": [
        {"id": "illegal", "sql": "SELECT l.id FROM structure_links l JOIN atoms a ON a.id = l.child WHERE l.parent = :doc",
         "params": {"doc": "doc"}, "expect": "none", "error": "ILLEGAL_STRUCTURE"},
        {"id": "made", "sql": "INSERT INTO baselines VALUES (:id, :doc, :tag)",
         "params": {"id": id, "doc": "doc", "tag": tag}, "expect": "one"},
        {"id": "items", "sql": "WITH RECURSIVE below(node, depth) AS (
                SELECT child, 1 FROM structure_links WHERE parent = :doc
                UNION ALL SELECT l.child, b.depth + 1 FROM below b JOIN structure_links l ON l.parent = b.node
                WHERE b.depth < 10)
            INSERT INTO baseline_items SELECT :id, a.id FROM below b JOIN atoms a ON a.id = b.node
            WHERE a.status = 'active' RETURNING atom",
         "params": {"doc": "doc", "id": id}},
    ], "output": "=items.count"})
}

async fn of_many_proposals_one_is_merged(bed: Bed) {
    bed.raw(TABLES);
    for n in 0..8 {
        bed.raw(&format!(
            "INSERT INTO atoms (id, status) VALUES ('p{n}', 'proposal');
             INSERT INTO proposal_links (proposal, target) VALUES ('p{n}', 'a')"
        ));
    }
    let merging = (0..8).map(|n| {
        let connections = bed.again(|_| {});
        async move {
            let (key, config) = (format!("x:{n}"), merge(&format!("p{n}"), 1));
            let answer = connections.run(work(config.clone(), &key)).await;
            // Whoever was killed after the commit comes again and hears the same.
            let again = connections.run(work(config, &key)).await;
            match (answer, again) {
                (Ok(first), Ok(second)) => {
                    assert!(!first.replayed && second.replayed);
                    assert_eq!(first.output, second.output);
                    Some(first.output)
                }
                (Err(first), Err(_)) => {
                    let refusals = ["REV_CONFLICT", "OUTDATED_PROPOSAL"];
                    assert!(refusals.contains(&first.code.as_ref()), "{first:?}");
                    None
                }
                other => panic!("{other:?}"),
            }
        }
    });
    let merged: Vec<Value> = join_all(merging).await.into_iter().flatten().collect();
    assert_eq!(merged.len(), 1, "{merged:?}");
    assert_eq!(merged[0]["edge"]["row"], json!({"rev": 2}));
    assert_eq!(merged[0]["rebased"]["count"], 7);
    for (sql, expected) in [
        // Every active atom hangs on exactly one edge, and no edge on anything else.
        (
            "SELECT count(*) FROM atoms a WHERE status = 'active'
          AND 1 <> (SELECT count(*) FROM structure_links l WHERE l.child = a.id)",
            0,
        ),
        (
            "SELECT count(*) FROM structure_links l JOIN atoms a ON a.id = l.child WHERE a.status <> 'active'",
            0,
        ),
        ("SELECT count(*) FROM atoms WHERE status = 'active'", 2),
        ("SELECT count(*) FROM revision_links", 1),
        ("SELECT count(*) FROM proposal_links WHERE outdated", 7),
    ] {
        assert_eq!(bed.scalar(sql).await, expected, "{sql}");
    }
}

async fn a_baseline_holds_what_is_active(bed: Bed) {
    bed.raw(TABLES);
    assert_eq!(bed.done(baseline("b1", "v1"), "x:1").await, 2);
    assert_eq!(
        bed.error(baseline("b2", "v1"), "x:2").await.code,
        "UNIQUE_VIOLATION"
    );
    bed.raw("INSERT INTO structure_links (id, parent, child) VALUES ('bad', 'doc', 'a')");
    assert_eq!(
        bed.error(baseline("b3", "v3"), "x:3").await.code,
        "ILLEGAL_STRUCTURE"
    );
    assert_eq!(bed.scalar("SELECT count(*) FROM baselines").await, 1);
    assert_eq!(bed.scalar("SELECT count(*) FROM baseline_items").await, 2);
}

on_both! {
    of_many_proposals_one_is_merged
    a_baseline_holds_what_is_active
}
