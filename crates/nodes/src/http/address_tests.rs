//! The hostile forms of an address, against the policy and against the connector.

use std::net::{IpAddr, SocketAddr};

use ::http::Method;
use url::{Host, Url};

use super::address::Judgement;
use super::{AddressPolicy, Cidr, HttpClient, HttpErrorKind, HttpLimits, Request};

/// Hosts as people write them in URLs; each must be refused by the default policy.
const FORBIDDEN: &[&str] = &[
    // loopback in every spelling
    "127.0.0.1",
    "127.0.0.1:5432",
    "127.1",
    "127.0.1",
    "127.255.255.254",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0x7F.0.0.1",
    "0177.0.0.1",
    "017700000001",
    "0177.1",
    "127.0.0.1.",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "127。0。0。1",
    "127.0.0.1",
    "①②⑦.0.0.1",
    "%31%32%37.0.0.1",
    // this host
    "0",
    "0.0.0.0",
    "0.1.2.3",
    "[::]",
    "[::0.0.0.0]",
    // IPv4 inside IPv6
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::ffff:10.0.0.1]",
    "[::ffff:a9fe:a9fe]",
    "[::127.0.0.1]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b::10.0.0.1]",
    "[64:ff9b::169.254.169.254]",
    "[64:ff9b:1::7f00:1]",
    "[64:ff9b:1::808:808]",
    "[2002:7f00:1::]",
    "[2002:a9fe:a9fe::1]",
    "[2002:808:808::1]",
    "[2001:0:7f00:1::]",
    "[2001:0:4136:e378:8000:63bf:80ff:fffe]",
    "[2001::1]",
    "[2a00:1450::5efe:7f00:1]",
    "[2a00:1450::200:5efe:a00:1]",
    // metadata
    "169.254.169.254",
    "169.254.170.2",
    "169.254.170.23",
    "100.100.100.200",
    "192.0.0.192",
    "168.63.129.16",
    "[fd00:ec2::254]",
    "[fd20:ce::254]",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
    "metadata.google.internal",
    "METADATA.google.internal.",
    "metadata",
    // private and shared
    "10.0.0.1",
    "10.255.255.255",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "[fc00::1]",
    "[fdff::1]",
    // reserved, documentation, multicast, link-local
    "169.254.0.1",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "[100::1]",
    "[2001:db8::1]",
    "[3fff::1]",
    "[5f00::1]",
    "[fe80::1]",
    "[febf::1]",
    "[fec0::1]",
    "[ff02::1]",
    "[4000::1]",
];

const PUBLIC: &[&str] = &[
    "8.8.8.8",
    "1.1.1.1",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "[2a00:1450:4001:81b::200e]",
    "[2606:4700::1111]",
    "[2001:4860:4860::8888]",
    "[::ffff:8.8.8.8]",
    "[64:ff9b::8.8.8.8]",
];

/// As the connector judges: names by name, literals by address.
fn permits(policy: &AddressPolicy, host: &str) -> bool {
    let url = Url::parse(&format!("http://{host}/")).unwrap();
    let ip: IpAddr = match url.host().unwrap() {
        Host::Domain(name) => return policy.permits_name(name),
        Host::Ipv4(ip) => ip.into(),
        Host::Ipv6(ip) => ip.into(),
    };
    policy.judge(SocketAddr::new(ip, url.port().unwrap_or(80))) == Judgement::Permitted
}

#[test]
fn internal_addresses_are_refused_in_every_form() {
    assert!(FORBIDDEN.len() >= 60);
    for host in FORBIDDEN {
        assert!(!permits(&AddressPolicy::default(), host), "{host}");
    }
}

#[test]
fn public_addresses_are_permitted() {
    for host in PUBLIC {
        assert!(permits(&AddressPolicy::default(), host), "{host}");
    }
}

#[tokio::test]
async fn the_connector_refuses_them_too_with_the_same_words() {
    let client = HttpClient::new(AddressPolicy::default(), HttpLimits::default());
    for host in FORBIDDEN {
        let url = Url::parse(&format!("http://{host}/")).unwrap();
        let name = url.host_str().unwrap().trim_matches(['[', ']']).to_owned();
        let error = client
            .send(Request::new(Method::GET, url))
            .await
            .unwrap_err();
        assert_eq!(error.kind, HttpErrorKind::Forbidden, "{host}: {error}");
        let words = error
            .message
            .replace(&name, "X")
            .replace(&format!("[{name}]"), "X");
        assert!(
            words.starts_with("`X` is not a public address"),
            "{host}: {error}"
        );
    }
}

#[tokio::test]
async fn names_for_loopback_are_refused() {
    let client = HttpClient::new(AddressPolicy::default(), HttpLimits::default());
    let url = Url::parse("http://localhost:1/").unwrap();
    let error = client
        .send(Request::new(Method::GET, url))
        .await
        .unwrap_err();
    assert_eq!(error.kind, HttpErrorKind::Forbidden, "{error}");
}

#[test]
fn what_no_url_can_be() {
    for url in [
        "http://[fe80::1%25eth0]/",
        "http://1.2.3.4.5/",
        "http://256.1.1.1/",
        "http://h:65536/",
        "http:///",
    ] {
        assert!(Url::parse(url).is_err(), "{url}");
    }
}

#[test]
fn loopback_and_private_can_be_allowed_apart() {
    let loopback = AddressPolicy {
        allow_loopback: true,
        ..AddressPolicy::default()
    };
    let private = AddressPolicy {
        allow_private: true,
        ..AddressPolicy::default()
    };
    for host in [
        "127.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
    ] {
        assert!(
            permits(&loopback, host) && !permits(&private, host),
            "{host}"
        );
    }
    for host in [
        "10.1.2.3",
        "192.168.1.1",
        "100.64.0.1",
        "[fd12::1]",
        "[::ffff:10.0.0.1]",
    ] {
        assert!(
            permits(&private, host) && !permits(&loopback, host),
            "{host}"
        );
    }
    for host in [
        "169.254.169.254",
        "[fd00:ec2::254]",
        "100.100.100.200",
        "0.0.0.0",
        "169.254.1.1",
        "[2002:7f00:1::]",
    ] {
        assert!(
            !permits(&loopback, host) && !permits(&private, host),
            "{host}"
        );
    }
}

#[test]
fn naming_a_network_allows_it() {
    let policy = |networks: &[&str]| {
        let allow = networks.iter().map(|text| text.parse().unwrap()).collect();
        AddressPolicy {
            allow,
            ..AddressPolicy::default()
        }
    };
    assert!(permits(&policy(&["127.0.0.1"]), "127.0.0.1"));
    assert!(!permits(&policy(&["127.0.0.1"]), "127.0.0.2"));
    assert!(permits(&policy(&["169.254.169.254/32"]), "169.254.169.254"));
    assert!(permits(
        &policy(&["169.254.169.254/32"]),
        "metadata.google.internal"
    ));
    assert!(permits(&policy(&["0.0.0.0/0"]), "10.0.0.1"));
    // The tunnel is allowed, what it leads to is not.
    assert!(!permits(&policy(&["2002::/16"]), "[2002:7f00:1::]"));
    assert!(permits(&policy(&["2002::/16"]), "[2002:808:808::]"));
}

#[test]
fn our_own_addresses_are_refused_whatever_is_allowed() {
    let policy = AddressPolicy {
        allow_loopback: true,
        allow: vec!["10.0.0.0/8".parse().unwrap()],
        deny_own: vec![
            "0.0.0.0:8080".parse().unwrap(),
            "10.0.0.5:5432".parse().unwrap(),
            "[::]:9090".parse().unwrap(),
        ],
        ..AddressPolicy::default()
    };
    for host in [
        "127.0.0.1:8080",
        "127.9.9.9:8080",
        "[::1]:8080",
        "[::ffff:127.0.0.1]:8080",
        "10.0.0.5:5432",
        "127.0.0.1:9090",
        "[::1]:9090",
    ] {
        let address = host.parse().unwrap();
        assert_eq!(policy.judge(address), Judgement::Own, "{host}");
    }
    let elsewhere = AddressPolicy {
        allow_loopback: false,
        ..policy.clone()
    };
    let own = "127.0.0.1:8080".parse().unwrap();
    assert_eq!(
        elsewhere.judge(own),
        Judgement::Forbidden,
        "as every port there"
    );
    for host in [
        "127.0.0.1:8081",
        "10.0.0.5:80",
        "10.0.0.6:5432",
        "8.8.8.8:8080",
    ] {
        assert!(permits(&policy, host), "{host}");
    }
    // Where Pawl listens on every address, the connection tells whether the other end is this machine.
    let ports = [8080, 5432, 9090, 80].map(|port| policy.denies_own_port(port));
    assert_eq!(ports, [true, false, true, false]);
}

#[test]
fn networks_parse_and_print() {
    for text in ["10.0.0.0/8", "127.0.0.1/32", "fd00::/8", "::/0"] {
        assert_eq!(text.parse::<Cidr>().unwrap().to_string(), text);
    }
    for text in [
        "",
        "10.0.0.0/33",
        "::/129",
        "10.0.0/8",
        "host/8",
        "10.0.0.0/x",
        "10.0.0.0/-1",
    ] {
        assert!(text.parse::<Cidr>().is_err(), "{text}");
    }
}
