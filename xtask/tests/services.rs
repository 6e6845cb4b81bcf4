//! Every service is really started, hurt and started again.
#![allow(clippy::unwrap_used)]

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use xtask::services::{
    AMQP_NODE, AMQP_URL, POSTGRES_URL, PgBouncer, PoolMode, Postgres, PostgresOptions, RabbitMq,
    RabbitNode, RabbitOptions, fresh_database, fresh_vhost, psql, shared_postgres, shared_rabbit,
};

fn running(pid: u32) -> bool {
    // What nobody has reaped yet is dead, but has an entry.
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|line| !line.rsplit_once(')').unwrap().1.starts_with(" Z"))
}

fn eventually(limit: Duration, what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + limit;
    while !done() {
        assert!(Instant::now() < deadline, "not within {limit:?}: {what}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

#[test]
fn postgres_keeps_its_data_over_every_kind_of_stop() {
    let server = Postgres::start(PostgresOptions {
        max_connections: 50,
        settings: vec![("work_mem".into(), "5MB".into())],
        tls: false,
    })
    .unwrap();
    let durability = "SELECT string_agg(setting, ',' ORDER BY name) FROM pg_settings WHERE name IN \
                      ('fsync', 'synchronous_commit', 'full_page_writes', 'max_connections', 'work_mem')";
    assert_eq!(server.psql(durability).unwrap(), "on,on,50,on,5120");
    assert_eq!(server.psql("SHOW server_encoding").unwrap(), "UTF8");
    server.psql("CREATE TABLE t (n int)").unwrap();
    type Stop = fn(&Postgres);
    let stops: [(&str, Stop); 4] = [
        ("restart", |server| {
            server.kill().unwrap();
            server.start_again().unwrap();
            server.restart_immediate().unwrap();
            server.kill().unwrap();
        }),
        ("fast", |server| server.stop_fast().unwrap()),
        ("immediate", |server| server.kill().unwrap()),
        ("hard", |server| server.kill_hard()),
    ];
    for (count, (name, stop)) in stops.into_iter().enumerate() {
        server.psql("INSERT INTO t VALUES (1)").unwrap();
        stop(&server);
        assert_eq!(server.pid(), None);
        assert!(server.psql("SELECT 1").is_err(), "{name}: still answers");
        server.start_again().unwrap();
        let rows = server.psql("SELECT count(*) FROM t").unwrap();
        assert_eq!(rows, (count + 1).to_string(), "{name}: lost a row");
    }
    assert!(server.start_again().is_err(), "it runs already");
    assert!(server.log().contains("automatic recovery in progress"));
    let other = server.create_database("other").unwrap();
    assert_eq!(psql(&other, "SELECT current_database()").unwrap(), "other");
    assert!(
        server
            .psql("SELECT nonsense")
            .unwrap_err()
            .contains("nonsense")
    );
    let (data, pid) = (server.data_dir(), server.pid().unwrap());
    drop(server);
    assert!(!data.exists());
    assert!(!running(pid));
}

#[test]
fn postgres_with_tls_can_be_verified_and_takes_nothing_else() {
    let server = Postgres::start(PostgresOptions {
        tls: true,
        ..PostgresOptions::default()
    })
    .unwrap();
    let authority = server.authority().unwrap().display();
    let port = server.port();
    let ask = |rest: &str| {
        let url = format!("postgres://postgres@{rest}");
        psql(
            &url,
            "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
        )
    };
    let verified = format!("sslmode=verify-full&sslrootcert={authority}");
    for host in ["127.0.0.1", "localhost"] {
        assert_eq!(
            ask(&format!("{host}:{port}/postgres?{verified}")).unwrap(),
            "t"
        );
    }
    let stranger = ask(&format!(
        "stranger:{port}/postgres?hostaddr=127.0.0.1&{verified}"
    ));
    assert!(stranger.unwrap_err().contains("does not match host name"));
    let plain = ask(&format!("127.0.0.1:{port}/postgres?sslmode=disable"));
    assert!(plain.unwrap_err().contains("no encryption"));
    assert_eq!(server.psql("SELECT 1").unwrap(), "1");
}

#[test]
fn pgbouncer_forwards() {
    let server = Postgres::start(PostgresOptions::default()).unwrap();
    server.create_database("pooled").unwrap();
    let pooler = PgBouncer::start(server.port(), PoolMode::Transaction).unwrap();
    let sql = "SELECT current_database()";
    assert_eq!(psql(&pooler.url("pooled"), sql).unwrap(), "pooled");
}

#[test]
fn rabbit_keeps_its_data_until_wiped() {
    let broker = RabbitMq::start(RabbitOptions {
        config: vec!["consumer_timeout = 12345".into()],
    })
    .unwrap();
    let timeout = "{ok, Value} = application:get_env(rabbit, consumer_timeout), Value.";
    assert_eq!(broker.eval(timeout).unwrap(), "12345");
    assert!(broker.eval("ok = failed.").is_err());
    broker.add_vhost("mine").unwrap();
    let declare = "{new, _} = rabbit_amqqueue:declare(rabbit_misc:r(<<\"mine\">>, queue, <<\"q\">>), \
                   true, false, [], none, <<\"test\">>), ok.";
    broker.eval(declare).unwrap();
    // A broker that has just started lists its queues a moment later.
    let lists_the_queue = || {
        let listed = || broker.ctl(&["list_queues", "--vhost", "mine", "name"]);
        (0..100).any(|_| listed().unwrap().contains('q'))
    };
    let stops: [fn(&RabbitMq); 2] = [|broker| broker.kill(), |broker| broker.stop().unwrap()];
    for stop in stops {
        assert!(lists_the_queue());
        let pid = broker.pid().unwrap();
        stop(&broker);
        assert!(!running(pid));
        broker.start_again().unwrap();
    }
    broker.purge("mine", "q").unwrap();
    broker.wipe().unwrap();
    assert!(!broker.ctl(&["list_vhosts"]).unwrap().contains("mine"));
    assert_eq!(broker.ctl(&["list_queues"]).unwrap().trim(), "");
    let node = RabbitNode::attach(broker.folder()).unwrap();
    let url = node.add_vhost("again").unwrap();
    assert_eq!(url, broker.vhost_url("again"));
    assert!(broker.ctl(&["list_vhosts"]).unwrap().contains("again"));
    let (folder, pid) = (broker.folder().to_path_buf(), broker.pid().unwrap());
    drop(broker);
    assert!(!folder.exists());
    assert!(!running(pid));
}

#[test]
fn many_tests_share_one_server_of_each_kind() {
    let threads: Vec<_> = (0..8)
        .map(|_| {
            std::thread::spawn(|| {
                let database = fresh_database("Shared Test").unwrap();
                psql(&database, "CREATE TABLE t (n int)").unwrap();
                let vhost = fresh_vhost("shared-test").unwrap();
                let servers = (shared_postgres().unwrap(), shared_rabbit().unwrap());
                (database, vhost, servers)
            })
        })
        .collect();
    let answers: Vec<_> = threads
        .into_iter()
        .map(|test| test.join().unwrap())
        .collect();
    // The threads that started the servers have ended, the servers must not.
    psql(&shared_postgres().unwrap(), "SELECT 1").unwrap();
    fresh_vhost("later").unwrap();
    let servers: HashSet<_> = answers.iter().map(|answer| &answer.2).collect();
    let databases: HashSet<_> = answers.iter().map(|answer| &answer.0).collect();
    let vhosts: HashSet<_> = answers.iter().map(|answer| &answer.1).collect();
    assert_eq!((servers.len(), databases.len()), (1, 8));
    // A broker of somebody else's may give no vhosts away.
    let foreign = std::env::var(AMQP_URL).is_ok() && std::env::var(AMQP_NODE).is_err();
    assert_eq!(vhosts.len(), if foreign { 1 } else { 8 });
}

fn folders_of(pid: u32) -> Vec<PathBuf> {
    let prefix = format!("pawl-services-{pid}-");
    fs::read_dir(std::env::temp_dir())
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        .map(|entry| entry.path())
        .collect()
}

fn recorded(folder: &Path) -> Vec<u32> {
    fs::read_dir(folder.join("pids"))
        .unwrap()
        .flatten()
        .map(|entry| fs::read_to_string(entry.path()).unwrap())
        .map(|line| line.split(' ').next().unwrap().parse().unwrap())
        .collect()
}

#[test]
fn nothing_outlives_a_process_that_is_killed() {
    let mut helper = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("services")
        .env_remove(POSTGRES_URL)
        .env_remove(AMQP_URL)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(helper.stdout.take().unwrap());
    let ready = output
        .lines()
        .any(|line| line.unwrap().starts_with("ready"));
    assert!(ready, "the helper did not start");
    let folders = folders_of(helper.id());
    let pids: Vec<u32> = folders.iter().flat_map(|folder| recorded(folder)).collect();
    assert_eq!(pids.len(), 3, "PostgreSQL, RabbitMQ and epmd: {folders:?}");
    assert!(pids.iter().all(|pid| running(*pid)));
    helper.kill().unwrap();
    helper.wait().unwrap();
    let limit = Duration::from_secs(15);
    eventually(limit, "the servers end", || {
        !pids.iter().any(|pid| running(*pid))
    });
    eventually(limit, "the folders go", || {
        !folders.iter().any(|folder| folder.exists())
    });
}
