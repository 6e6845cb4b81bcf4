//! Alone in its process, because it looks at the memory of the whole process.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use pawl_script::{Document, Job, Options, Pool};

fn job(source: &str) -> Job<'static> {
    Job {
        source: source.into(),
        data: Arc::new(Document::default()),
        entered_at_ms: 0,
        seed: 0,
        time: Some(Duration::from_millis(100)),
        until: None,
        owner: None,
    }
}

/// In pages.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn the_memory_of_the_parent_returns() {
    let mut options = Options::new(env!("CARGO_BIN_EXE_pawl-script-child"));
    options.children = 2;
    let pool = Pool::new(options).unwrap();
    let attacks = [
        "console.log('x'.repeat(1e7)); return 'x'.repeat(1e6)",
        "const a = []; for (;;) a.push(new Uint8Array(1e6))",
        "new Array(2e8) + ''",
        "throw new Error('x'.repeat(1e7))",
        "for (let i = 0; i < 1e5; i++) console.log('line ' + i); return Array(1e5).fill({a: 1})",
    ];
    let mut before = 0;
    for round in 0..8 {
        for attack in attacks {
            let _ = pool.run(job(attack)).await;
        }
        if round == 1 {
            before = resident();
        }
    }
    let after = resident();
    let page_bytes = 4096;
    assert!(
        after < before + (16 << 20) / page_bytes,
        "{before} pages became {after}"
    );
}
