#!/bin/sh
# Plays a whole story against a running Pawl with the pack installed, and checks every answer.
#
#   packs/docgraph/story.sh [http://127.0.0.1:8080]
#
# Needs a POSIX shell with grep, sed and tr, and curl. AI analysis is left out: it needs a model.
set -eu

base="${1:-${PAWL_URL:-http://127.0.0.1:8080}}/webhook/docgraph"
answer=$(mktemp)
trap 'rm -f "$answer"' EXIT

# call STATUS METHOD PATH [BODY] [HEADER]: sends it and insists on the status; the body is then in $answer.
call() {
    wanted=$1 method=$2 path=$3 body=${4:-} header=${5:-X-Story: docgraph}
    if [ -n "$body" ]; then
        got=$(curl -sS -o "$answer" -w '%{http_code}' -X "$method" "$base/$path" \
            -H 'content-type: application/json' -H "$header" -d "$body")
    else
        got=$(curl -sS -o "$answer" -w '%{http_code}' -X "$method" "$base/$path" -H "$header")
    fi
    if [ "$got" != "$wanted" ]; then
        echo "$method $path: expected $wanted, got $got: $(cat "$answer")" >&2
        exit 1
    fi
    echo "$wanted $method $path"
}

# field NAME: the first field of that name in the last answer; for ids, revisions, numbers and words.
field() {
    value=$(tr '{}[],' '\n\n\n\n\n' < "$answer" | sed -n 's/^ *"'"$1"'" *: *"\{0,1\}\([^"]*\).*/\1/p' | head -n 1)
    if [ -z "$value" ]; then
        echo "no $1 in $(cat "$answer")" >&2
        exit 1
    fi
    echo "$value"
}

# is NAME VALUE: that field is this.
is() {
    got=$(field "$1")
    if [ "$got" != "$2" ]; then
        echo "$1 is $got, not $2, in $(cat "$answer")" >&2
        exit 1
    fi
}

# shows COUNT TEXT: the last answer has this text so many times.
shows() {
    got=$(grep -oF -- "$2" "$answer" | grep -c '') || true
    if [ "$got" != "$1" ]; then
        echo "$got times, not $1: $2 in $(cat "$answer")" >&2
        exit 1
    fi
}

echo '# A document with a section and two atoms'
call 201 POST documents '{"title": "Requirements"}'
doc=$(field id)
call 201 POST "documents/$doc/sections" '{"title": "Login", "order": 1}'
section=$(field id)
call 201 POST "sections/$section/atoms" '{"content": "Users log in with a password.", "order": 1}'
atom=$(field id)
atom_rev=$(field atom_rev)
edge=$(field structure_edge_id)
edge_rev=$(field structure_edge_rev)
call 201 POST "sections/$section/atoms" '{"content": "Passwords have six letters.", "order": 2}'
second=$(field id)
second_rev=$(field atom_rev)

echo '# Two people have a better idea'
call 200 POST "atoms/$atom/proposals" '{"new_content": "Users log in with a passkey.", "comment": "safer", "author": "ann"}'
winner=$(field proposal_id)
call 200 POST "atoms/$atom/proposals" '{"new_content": "Users log in with a card.", "author": "bob"}'
other=$(field proposal_id)

echo '# Ann locks it; nobody else gets in'
call 428 POST "atoms/$atom/lock" '{"user_id": "ann"}'
call 200 POST "atoms/$atom/lock" '{"user_id": "ann"}' "If-Match: \"$atom_rev\""
locked_rev=$(field atom_rev)
call 423 POST "atoms/$atom/lock" '{"user_id": "bob"}' "If-Match: \"$locked_rev\""
is error LOCKED
is locked_by ann
merge="{\"current_active_id\": \"$atom\", \"structure_edge_id\": \"$edge\", \"expected_edge_rev\": \"$edge_rev\", \"user_id\": \"USER\"}"
call 423 POST "proposals/$winner/merge" "$(echo "$merge" | sed 's/USER/bob/')"

echo '# Ann takes her own proposal; that of Bob is outdated from then on'
call 200 POST "proposals/$winner/merge" "$(echo "$merge" | sed 's/USER/ann/')"
is rebased_proposals_count 1
edge_rev=$(field structure_edge_rev)
outdated="{\"current_active_id\": \"$winner\", \"structure_edge_id\": \"$edge\", \"expected_edge_rev\": \"$edge_rev\", \"user_id\": \"bob\"}"
call 409 POST "proposals/$other/merge" "$outdated"
is error OUTDATED_PROPOSAL
call 200 GET "atoms/$winner/context"
shows 1 '"status":"active"'
is outdated true
other_rev=$(field proposal_rev)
call 409 POST "proposals/$other/reject" '{}' 'If-Match: "999"'
is error REV_CONFLICT
call 200 POST "proposals/$other/reject" '{}' "If-Match: \"$other_rev\""

echo '# Version 1 is frozen, and what is in it is protected'
call 200 POST "documents/$doc/baselines" '{"version_tag": "v1.0", "title": "First release"}'
is items_snapshotted 2
baseline=$(field baseline_id)
call 409 POST "documents/$doc/baselines" '{"version_tag": "v1.0"}'
is error CONFLICT
call 409 PATCH "atoms/$second/archive" "{\"user_id\": \"ann\", \"expected_rev\": \"$second_rev\"}"
is error PROTECTED_BY_BASELINE
is tag v1.0

echo '# What comes later can go'
call 201 POST "sections/$section/atoms" '{"content": "Login takes a second."}'
third=$(field id)
third_rev=$(field atom_rev)
call 200 PATCH "atoms/$third/archive" "{\"user_id\": \"ann\", \"reason\": \"not measurable\", \"expected_rev\": \"$third_rev\"}"
call 200 GET "documents/$doc/structure"
shows 2 '"content":'
shows 1 'Users log in with a passkey.'
shows 1 'Passwords have six letters.'
call 200 GET "documents/$doc/structure?baseline_id=$baseline"
is tag v1.0
shows 2 '"atom_id":'
call 200 GET "documents/$doc/baselines"
shows 1 '"baseline_id":'
call 200 GET 'errors?limit=1'
call 404 GET 'atoms/nowhere/context'
is error NOT_FOUND

echo 'The story is told.'
