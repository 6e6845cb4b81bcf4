//! What the answers say and what the data say must be the same, to the last revision: every accepted call changed what it
//! touched once, and nothing else changed anything.

use std::collections::{BTreeMap, BTreeSet};

use crate::database::Database;
use crate::load::{Kind, Record};

/// Rows that must not be there.
const FORBIDDEN: [(&str, &str); 5] = [
    (
        "active atoms that do not hang on exactly one edge",
        "SELECT count(*) FROM atoms a WHERE a.status = 'active' AND 1 <>
         (SELECT count(*) FROM structure_links l WHERE l.child_type = 'atoms' AND l.child_id = a.id)",
    ),
    (
        "edges to atoms that are not active",
        "SELECT count(*) FROM structure_links l JOIN atoms a ON l.child_type = 'atoms' AND a.id = l.child_id
         WHERE a.status <> 'active'",
    ),
    (
        "edges to nothing",
        "SELECT count(*) FROM structure_links l WHERE l.child_type = 'atoms'
         AND NOT EXISTS (SELECT 1 FROM atoms a WHERE a.id = l.child_id)",
    ),
    (
        "open proposals without a link",
        "SELECT count(*) FROM atoms a WHERE a.status = 'proposal'
         AND NOT EXISTS (SELECT 1 FROM proposal_links p WHERE p.proposal_id = a.id)",
    ),
    (
        "merged proposals with a link",
        "SELECT count(*) FROM proposal_links p JOIN revision_links r ON r.newer_id = p.proposal_id",
    ),
];

pub(crate) struct Verdict {
    pub(crate) problems: Vec<String>,
    /// Accepted calls of each kind.
    pub(crate) accepted: BTreeMap<Kind, usize>,
    pub(crate) refused: BTreeMap<String, usize>,
}

pub(crate) async fn judge(records: &[Record], database: &Database) -> Verdict {
    let mut problems = Vec::new();
    for (what, sql) in FORBIDDEN {
        let found = database.number(sql).await;
        if found > 0 {
            problems.push(format!("{found} {what}"));
        }
    }
    let expected = Expected::of(records, &mut problems);
    expected.compare(database, &mut problems).await;
    let mut accepted = BTreeMap::new();
    let mut refused = BTreeMap::new();
    for record in records {
        match record.answer.status {
            200 | 201 => *accepted.entry(record.kind).or_default() += 1,
            status => {
                let code = record.answer.body["error"].as_str().unwrap_or("?");
                *refused.entry(format!("{status} {code}")).or_default() += 1;
            }
        }
    }
    Verdict {
        problems,
        accepted,
        refused,
    }
}

/// The data as the accepted answers make them.
#[derive(Default)]
struct Expected {
    /// Revision and status.
    atoms: BTreeMap<String, (i64, &'static str)>,
    edges: BTreeMap<String, i64>,
    replaced: BTreeSet<String>,
}

impl Expected {
    fn of(records: &[Record], problems: &mut Vec<String>) -> Self {
        let mut expected = Self::default();
        let accepted = |record: &&Record| matches!(record.answer.status, 200 | 201);
        for record in records.iter().filter(|record| !accepted(record)) {
            if !matches!(record.answer.status, 404 | 409 | 423) {
                problems.push(format!("no answer of ours: {record:?}"));
            }
        }
        // What is made first, whenever its answer came.
        let (made, changed): (Vec<&Record>, Vec<&Record>) = records
            .iter()
            .filter(accepted)
            .partition(|record| matches!(record.kind, Kind::Create | Kind::Propose));
        for record in made {
            let status = match record.kind {
                Kind::Create => "active",
                _ => "proposal",
            };
            let before = expected.atoms.insert(record.atom.clone(), (1, status));
            if before.is_some() {
                problems.push(format!("made twice: {record:?}"));
            }
            if record.kind == Kind::Create {
                expected.edges.insert(record.edge.clone(), 1);
            }
        }
        let mut given = BTreeSet::new();
        for record in changed {
            expected.apply(record);
            let revision = record.answer.body["atom_rev"].as_str();
            let fresh = revision
                .is_none_or(|revision| given.insert((record.atom.clone(), revision.to_owned())));
            if !fresh {
                problems.push(format!("two answers with one revision: {record:?}"));
            }
        }
        expected.finish(records);
        expected
    }

    fn change(&mut self, atom: &str) {
        if let Some(known) = self.atoms.get_mut(atom) {
            known.0 += 1;
        }
    }

    fn apply(&mut self, record: &Record) {
        self.change(&record.atom);
        if record.kind == Kind::Merge {
            self.change(&record.current);
            *self.edges.entry(record.edge.clone()).or_default() += 1;
            let link = format!("{} {}", record.atom, record.current);
            self.replaced.insert(link);
        }
    }

    /// The last word on each: nothing comes after being archived or rejected.
    fn finish(&mut self, records: &[Record]) {
        let mut set = |atom: &str, status: &'static str| {
            if let Some(known) = self.atoms.get_mut(atom) {
                known.1 = status;
            }
        };
        let accepted = || records.iter().filter(|record| record.answer.status == 200);
        for record in accepted().filter(|record| record.kind == Kind::Merge) {
            set(&record.atom, "active");
        }
        for record in accepted() {
            match record.kind {
                Kind::Merge => set(&record.current, "archived"),
                Kind::Archive => set(&record.atom, "archived"),
                Kind::Reject => set(&record.atom, "rejected"),
                _ => {}
            }
        }
        // An archived atom takes its edge with it.
        let archived: BTreeSet<&str> = accepted()
            .filter(|record| record.kind == Kind::Archive)
            .map(|record| record.atom.as_str())
            .collect();
        let mut last = BTreeMap::new();
        for record in records.iter().filter(|record| record.kind == Kind::Create) {
            last.insert(record.atom.as_str(), record.edge.as_str());
        }
        for record in accepted().filter(|record| record.kind == Kind::Merge) {
            last.insert(&record.atom, &record.edge);
        }
        for atom in archived {
            if let Some(edge) = last.get(atom) {
                self.edges.remove(*edge);
            }
        }
    }

    async fn compare(&self, database: &Database, problems: &mut Vec<String>) {
        let atoms = self.atoms.iter();
        let atoms = atoms.map(|(id, (rev, status))| format!("{id} {rev} {status}"));
        let edges = self.edges.iter().map(|(id, rev)| format!("{id} {rev}"));
        for (what, expected, sql) in [
            (
                "atom",
                atoms.collect::<BTreeSet<_>>(),
                "SELECT id || ' ' || CAST(rev AS text) || ' ' || status FROM atoms",
            ),
            (
                "edge",
                edges.collect(),
                "SELECT id || ' ' || CAST(rev AS text) FROM structure_links WHERE child_type = 'atoms'",
            ),
            (
                "replacement",
                self.replaced.clone(),
                "SELECT newer_id || ' ' || older_id FROM revision_links",
            ),
        ] {
            let rows = database.column(sql).await;
            let found: BTreeSet<String> = rows.iter().cloned().collect();
            if found.len() != rows.len() {
                problems.push(format!("a {what} is there twice"));
            }
            let only = |left: &BTreeSet<String>, right: &BTreeSet<String>, text: &str| {
                let rows = left.difference(right).take(5);
                rows.map(|row| format!("{what} {text}: {row}"))
                    .collect::<Vec<_>>()
            };
            problems.extend(only(&expected, &found, "answered and not there"));
            problems.extend(only(&found, &expected, "there and not answered"));
        }
    }
}
