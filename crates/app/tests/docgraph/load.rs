//! Many clients on the same few atoms. Each call is repeated under its key until it is answered: somebody who was killed
//! meanwhile must not make a difference.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::watch;

use crate::bed::text;
use crate::call::{Answer, Call};
use crate::rng::Rng;

/// How long a call may take to be answered, kills and all.
const PATIENCE: Duration = Duration::from_secs(150);
const ATOMS: usize = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Create,
    Propose,
    Lock,
    Unlock,
    Merge,
    Reject,
    Archive,
}

/// A call and its one answer.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) kind: Kind,
    /// The atom it is about; of a merge the winner.
    pub(crate) atom: String,
    /// Of a proposal: the atom it is for. Of a merge: the atom that was replaced, and the edge.
    pub(crate) current: String,
    pub(crate) edge: String,
    pub(crate) answer: Answer,
}

impl Record {
    pub(crate) fn is_accepted(&self) -> bool {
        matches!(self.answer.status, 200 | 201)
    }
}

/// What the clients believe, which need not be true.
#[derive(Default)]
struct Known {
    places: Vec<Place>,
    proposals: Vec<Proposal>,
}

#[derive(Clone, Default)]
struct Place {
    edge: String,
    edge_rev: Value,
    atom: String,
    atom_rev: Value,
    owner: Option<String>,
}

#[derive(Clone)]
struct Proposal {
    id: String,
    rev: Value,
    edge: String,
}

#[derive(Clone)]
pub(crate) struct Load {
    shared: Arc<Shared>,
    address: watch::Receiver<SocketAddr>,
}

struct Shared {
    known: Mutex<Known>,
    records: Mutex<Vec<Record>>,
    doc: String,
    section: String,
}

impl Load {
    /// A document with some atoms.
    pub(crate) async fn prepare(address: watch::Receiver<SocketAddr>) -> Self {
        let at = *address.borrow();
        let made = |call: Call| async move { call.send(at).await.unwrap().expect(201) };
        let doc = made(Call::post("documents", json!({"title": "Storm"}))).await;
        let path = format!("documents/{}/sections", text(&doc, "id"));
        let section = made(Call::post(path, json!({"title": "Eye"}))).await;
        let shared = Shared {
            known: Mutex::default(),
            records: Mutex::default(),
            doc: text(&doc, "id"),
            section: text(&section, "id"),
        };
        let load = Self {
            shared: Arc::new(shared),
            address,
        };
        for number in 0..ATOMS {
            load.create(&format!("first-{number}")).await;
        }
        load
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.shared.known.lock().unwrap()
    }

    pub(crate) fn records(&self) -> Vec<Record> {
        self.shared.records.lock().unwrap().clone()
    }

    /// How many calls of each kind were accepted.
    pub(crate) fn accepted(&self) -> BTreeMap<Kind, usize> {
        let mut accepted = BTreeMap::new();
        for record in self.shared.records.lock().unwrap().iter() {
            if record.is_accepted() {
                *accepted.entry(record.kind).or_default() += 1;
            }
        }
        accepted
    }

    /// One client, until it is told to stop and its last call is answered.
    pub(crate) async fn work(self, client: u64, seed: u64, stop: watch::Receiver<bool>) {
        let mut rng = Rng(seed.wrapping_add(client.wrapping_mul(0x9E37)));
        let mut number = 0;
        while !*stop.borrow() {
            number += 1;
            let key = format!("{client}-{number}");
            let refused = match rng.between(1, 100) {
                1..=24 => self.propose(&key, &mut rng).await,
                25..=44 => self.lock(&key, &mut rng).await,
                45..=64 => self.unlock(&key, &mut rng).await,
                65..=80 => self.merge(&key, &mut rng).await,
                81..=92 => self.reject(&key, &mut rng).await,
                _ => self.archive(&key, &mut rng).await,
            };
            if refused && rng.between(1, 4) == 1 {
                self.look(&key).await;
            }
        }
    }

    /// Sends it until somebody answers. A call that takes too long is still the same call the next time.
    async fn answer(&self, call: Call, key: &str) -> Answer {
        let call = call.header("idempotency-key", key);
        let began = Instant::now();
        loop {
            let address = *self.address.borrow();
            let sent = call.send(address).await;
            assert!(began.elapsed() < PATIENCE, "{call:?}: {sent:?}");
            match sent {
                Ok(answer) if !matches!(answer.status, 202 | 429 | 503) => return answer,
                _ => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    /// Whether it was refused.
    fn note(&self, kind: Kind, about: (&str, &str, &str), answer: &Answer) -> bool {
        let record = Record {
            kind,
            atom: about.0.to_owned(),
            current: about.1.to_owned(),
            edge: about.2.to_owned(),
            answer: answer.clone(),
        };
        self.shared.records.lock().unwrap().push(record);
        answer.status >= 400
    }

    fn place(&self, rng: &mut Rng) -> Place {
        let known = self.known();
        let last = known.places.len() as u64 - 1;
        known.places[rng.between(0, last) as usize].clone()
    }

    fn proposal(&self, rng: &mut Rng) -> Option<Proposal> {
        let known = self.known();
        let last = (known.proposals.len() as u64).checked_sub(1)?;
        Some(known.proposals[rng.between(0, last) as usize].clone())
    }

    /// What an accepted answer says of the atom at a place.
    fn seen(&self, atom: &str, change: impl FnOnce(&mut Place)) {
        let mut known = self.known();
        if let Some(place) = known.places.iter_mut().find(|place| place.atom == atom) {
            change(place);
        }
    }

    async fn create(&self, key: &str) {
        let path = format!("sections/{}/atoms", self.shared.section);
        let call = Call::post(path, json!({"content": key}));
        let answer = self.answer(call, key).await;
        let made = answer.body.clone();
        let (atom, edge) = (text(&made, "id"), text(&made, "structure_edge_id"));
        self.note(Kind::Create, (&atom, "", &edge), &answer);
        self.known().places.push(Place {
            edge,
            edge_rev: made["structure_edge_rev"].clone(),
            atom,
            atom_rev: made["atom_rev"].clone(),
            owner: None,
        });
    }

    async fn propose(&self, key: &str, rng: &mut Rng) -> bool {
        let place = self.place(rng);
        let path = format!("atoms/{}/proposals", place.atom);
        let call = Call::post(path, json!({"new_content": key, "author": key}));
        let answer = self.answer(call, key).await;
        let id = answer.body["proposal_id"].as_str().unwrap_or_default();
        if answer.status == 200 {
            self.known().proposals.push(Proposal {
                id: id.to_owned(),
                rev: answer.body["proposal_rev"].clone(),
                edge: place.edge.clone(),
            });
        }
        self.note(Kind::Propose, (id, &place.atom, ""), &answer)
    }

    async fn lock(&self, key: &str, rng: &mut Rng) -> bool {
        let place = self.place(rng);
        let path = format!("atoms/{}/lock", place.atom);
        let call = Call::post(path, json!({"user_id": key})).if_match(&place.atom_rev);
        let answer = self.answer(call, key).await;
        let body = answer.body.clone();
        self.seen(&place.atom, |place| {
            if !body["locked_by"].is_null() {
                place.owner = body["locked_by"].as_str().map(str::to_owned);
            }
            if !body["atom_rev"].is_null() {
                place.atom_rev = body["atom_rev"].clone();
            }
        });
        self.note(Kind::Lock, (&place.atom, "", ""), &answer)
    }

    async fn unlock(&self, key: &str, rng: &mut Rng) -> bool {
        let place = self.place(rng);
        let user = place.owner.as_deref().unwrap_or(key);
        let path = format!("atoms/{}/unlock", place.atom);
        let call = Call::post(path, json!({"user_id": user})).if_match(&place.atom_rev);
        let answer = self.answer(call, key).await;
        let body = answer.body.clone();
        let freed = answer.status == 200;
        self.seen(&place.atom, |place| {
            if freed {
                place.owner = None;
            }
            if !body["atom_rev"].is_null() {
                place.atom_rev = body["atom_rev"].clone();
            }
        });
        self.note(Kind::Unlock, (&place.atom, "", ""), &answer)
    }

    async fn merge(&self, key: &str, rng: &mut Rng) -> bool {
        let Some(proposal) = self.proposal(rng) else {
            return false;
        };
        let place = {
            let known = self.known();
            let mut places = known.places.iter();
            places.find(|place| place.edge == proposal.edge).cloned()
        };
        let Some(place) = place else { return false };
        let body = json!({
            "current_active_id": place.atom, "user_id": place.owner.as_deref().unwrap_or(key),
            "structure_edge_id": place.edge, "allow_outdated": rng.between(1, 3) > 1,
        });
        let path = format!("proposals/{}/merge", proposal.id);
        let call = Call::post(path, body).if_match(&place.edge_rev);
        let answer = self.answer(call, key).await;
        if answer.status == 200 {
            let mut known = self.known();
            known.proposals.retain(|one| one.id != proposal.id);
            let found = known.places.iter_mut().find(|one| one.edge == place.edge);
            if let Some(found) = found {
                found.edge_rev = answer.body["structure_edge_rev"].clone();
                found.atom = proposal.id.clone();
                found.atom_rev = answer.body["new_active_atom_rev"].clone();
                found.owner = None;
            }
        }
        let about = (
            proposal.id.as_str(),
            place.atom.as_str(),
            place.edge.as_str(),
        );
        self.note(Kind::Merge, about, &answer)
    }

    async fn reject(&self, key: &str, rng: &mut Rng) -> bool {
        let Some(proposal) = self.proposal(rng) else {
            return false;
        };
        let path = format!("proposals/{}/reject", proposal.id);
        let call = Call::post(path, json!({})).if_match(&proposal.rev);
        let answer = self.answer(call, key).await;
        // Rejected by us, or nothing to be rejected any more.
        self.known().proposals.retain(|one| one.id != proposal.id);
        self.note(Kind::Reject, (&proposal.id, "", ""), &answer)
    }

    /// What leaves is replaced, so that there is always something to fight for.
    async fn archive(&self, key: &str, rng: &mut Rng) -> bool {
        let place = self.place(rng);
        let user = place.owner.as_deref().unwrap_or(key);
        let path = format!("atoms/{}/archive", place.atom);
        let call = Call::patch(path, json!({"user_id": user, "reason": key}));
        let answer = self.answer(call.if_match(&place.atom_rev), key).await;
        let refused = self.note(Kind::Archive, (&place.atom, "", ""), &answer);
        if !refused {
            self.create(&format!("{key}-new")).await;
            self.known().places.retain(|one| one.edge != place.edge);
        }
        refused
    }

    /// Reads what is really there.
    async fn look(&self, key: &str) {
        let call = Call::get(format!("documents/{}/structure", self.shared.doc));
        let answer = self.answer(call, &format!("{key}-look")).await;
        let body = answer.expect(200);
        let place = |item: &Value| Place {
            edge: text(item, "structure_edge_id"),
            edge_rev: item["structure_edge_rev"].clone(),
            atom: text(item, "atom_id"),
            atom_rev: item["atom_rev"].clone(),
            owner: item["locked_by"].as_str().map(str::to_owned),
        };
        let places: Vec<Place> = body["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(place)
            .collect();
        assert!(!places.is_empty(), "{body}");
        self.known().places = places;
    }
}
