//! What the answers say and what the data say must be the same, to the last revision: every accepted call changed what it
//! touched once, and nothing else changed anything.

use std::collections::{BTreeMap, BTreeSet};

use crate::database::Database;
use crate::load::{Kind, Record};

/// Rows that must not be there.
const FORBIDDEN: [(&str, &str); 6] = [
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
    (
        "open proposals for atoms that were replaced",
        "SELECT count(*) FROM proposal_links p JOIN atoms a ON a.id = p.proposal_id AND a.status = 'proposal'
         JOIN revision_links r ON r.older_id = p.target_id",
    ),
];

pub(crate) struct Verdict {
    pub(crate) problems: Vec<String>,
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
    let mut refused = BTreeMap::new();
    for record in records.iter().filter(|record| !record.is_accepted()) {
        let code = record.answer.body["error"].as_str().unwrap_or("?");
        let refusal = format!("{} {code}", record.answer.status);
        *refused.entry(refusal).or_default() += 1;
    }
    Verdict { problems, refused }
}

/// The data as the accepted answers make them.
#[derive(Default)]
struct Expected {
    /// Revision and status.
    atoms: BTreeMap<String, (i64, &'static str)>,
    edges: BTreeMap<String, i64>,
    replaced: BTreeSet<String>,
    /// Of proposals that were not merged.
    links: BTreeMap<String, Link>,
    /// The last revision at which a lock was taken or given back, and who has it since.
    locks: BTreeMap<String, (i64, Option<String>)>,
}

#[derive(Default)]
struct Link {
    target: String,
    rev: i64,
    rebased_from: Option<String>,
}

impl Link {
    /// Each merge that rebased it moved it on, in the order of the texts.
    fn follow(&mut self, mut moves: BTreeMap<&str, &str>) {
        while let Some(winner) = moves.remove(self.target.as_str()) {
            let before = std::mem::replace(&mut self.target, winner.to_owned());
            self.rebased_from = Some(before);
        }
    }

    fn text(&self, proposal: &str) -> String {
        let outdated = if self.rev > 1 { "outdated" } else { "fresh" };
        let from = self.rebased_from.as_deref().unwrap_or("-");
        format!("{proposal} {} {outdated} {} {from}", self.target, self.rev)
    }
}

impl Expected {
    fn of(records: &[Record], problems: &mut Vec<String>) -> Self {
        let mut expected = Self::default();
        for record in records.iter().filter(|record| !record.is_accepted()) {
            if !matches!(record.answer.status, 404 | 409 | 423) {
                problems.push(format!("no answer of ours: {record:?}"));
            }
        }
        // What is made first, whenever its answer came.
        let (made, changed): (Vec<&Record>, Vec<&Record>) = records
            .iter()
            .filter(|record| record.is_accepted())
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
        expected.link(records);
        expected
    }

    /// Proposals hang on the atom they were made for, or where merges say that they rebased them to.
    fn link(&mut self, records: &[Record]) {
        let accepted = |kind: Kind| {
            let of_kind = records.iter().filter(move |record| record.kind == kind);
            of_kind.filter(|record| record.answer.status == 200)
        };
        let mut rebased: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
        for merge in accepted(Kind::Merge) {
            let moved = merge.answer.body["rebased_proposals"].as_array();
            for proposal in moved.into_iter().flatten() {
                let moves = rebased.entry(proposal["id"].as_str().unwrap());
                moves.or_default().insert(&merge.current, &merge.atom);
            }
        }
        for made in accepted(Kind::Propose) {
            let moves = rebased.remove(made.atom.as_str()).unwrap_or_default();
            let mut link = Link {
                target: made.current.clone(),
                rev: 1 + i64::try_from(moves.len()).unwrap(),
                rebased_from: None,
            };
            link.follow(moves);
            self.links.insert(made.atom.clone(), link);
        }
        for merge in accepted(Kind::Merge) {
            self.links.remove(&merge.atom);
        }
    }

    fn lock(&mut self, record: &Record) {
        let body = &record.answer.body;
        let revision: i64 = body["atom_rev"].as_str().unwrap().parse().unwrap();
        let owner = body["locked_by"].as_str().map(str::to_owned);
        let last = self.locks.entry(record.atom.clone()).or_default();
        if revision > last.0 {
            *last = (revision, owner);
        }
    }

    fn change(&mut self, atom: &str) {
        if let Some(known) = self.atoms.get_mut(atom) {
            known.0 += 1;
        }
    }

    fn apply(&mut self, record: &Record) {
        self.change(&record.atom);
        if matches!(record.kind, Kind::Lock | Kind::Unlock) {
            self.lock(record);
        }
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
        let links = self.links.iter().map(|(id, link)| link.text(id));
        let locks = self.locks.iter().filter_map(|(atom, (_, owner))| {
            let owner = owner.as_ref()?;
            Some(format!("{atom} {owner}"))
        });
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
            (
                "link of a proposal",
                links.collect(),
                "SELECT proposal_id || ' ' || target_id || CASE WHEN outdated THEN ' outdated ' ELSE ' fresh ' END ||
                 CAST(rev AS text) || ' ' || coalesce(rebased_from, '-') FROM proposal_links",
            ),
            (
                "lock",
                locks.collect(),
                "SELECT id || ' ' || locked_by FROM atoms WHERE locked_by IS NOT NULL",
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
