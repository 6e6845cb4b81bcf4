//! Which addresses may be connected to.
//!
//! By default only public ones. Loopback and private networks can be allowed as a whole, anything else
//! by naming its network. The addresses at which clouds hand out credentials are refused even then,
//! unless they are named. An IPv6 address that carries an IPv4 address is judged by both.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use serde::Deserialize;

#[derive(Clone, Debug, Default)]
pub struct AddressPolicy {
    pub allow_loopback: bool,
    pub allow_private: bool,
    /// Networks allowed whatever else is said about them.
    pub allow: Vec<Cidr>,
    /// Where Pawl itself, its database and its broker listen; beats everything else. An unspecified
    /// address (`0.0.0.0:8080`) stands for every loopback address with that port.
    pub deny_own: Vec<SocketAddr>,
    /// The same, for names that had no address when the process started; they are looked up again for each connection.
    pub deny_own_names: Vec<(String, u16)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    Permitted,
    /// In a network that is allowed, but Pawl itself, its database or its broker.
    Own,
    Forbidden,
}

impl AddressPolicy {
    pub(super) fn judge(&self, address: SocketAddr) -> Judgement {
        let faces = faces(address.ip());
        match () {
            () if !faces.iter().all(|ip| self.permits_ip(*ip)) => Judgement::Forbidden,
            () if faces.iter().any(|ip| self.is_own(*ip, address.port())) => Judgement::Own,
            () => Judgement::Permitted,
        }
    }

    /// Names that only ever lead to credentials; refused before they are looked up.
    pub fn permits_name(&self, name: &str) -> bool {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        !METADATA_NAMES.contains(&name.as_str()) || self.names(METADATA_ADDRESS)
    }

    fn permits_ip(&self, ip: IpAddr) -> bool {
        let within = |networks: &[Cidr]| networks.iter().any(|network| network.contains(ip));
        if self.names(ip) {
            return true;
        }
        if within(METADATA) {
            return false;
        }
        if within(LOOPBACK) {
            return self.allow_loopback;
        }
        if within(PRIVATE) {
            return self.allow_private;
        }
        !within(RESERVED) && (ip.is_ipv4() || GLOBAL_UNICAST.contains(ip))
    }

    fn names(&self, ip: IpAddr) -> bool {
        self.allow.iter().any(|network| network.contains(ip))
    }

    /// Is this a port that Pawl, its database or its broker listens at on every address of the machine?
    pub(super) fn denies_own_port(&self, port: u16) -> bool {
        let mut own = self.deny_own.iter();
        own.any(|own| own.port() == port && own.ip().is_unspecified())
    }

    fn is_own(&self, ip: IpAddr, port: u16) -> bool {
        self.deny_own.iter().any(|own| {
            let own_ip = own.ip().to_canonical();
            own.port() == port && (own_ip == ip || own_ip.is_unspecified() && ip.is_loopback())
        })
    }
}

/// A network: `10.0.0.0/8`, `fd00::/8`, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Cidr {
    network: IpAddr,
    prefix: u8,
}

impl Cidr {
    pub fn contains(&self, ip: IpAddr) -> bool {
        match (self.network, ip) {
            (IpAddr::V4(network), IpAddr::V4(ip)) => {
                let differing = u32::from(network) ^ u32::from(ip);
                differing
                    .checked_shr(32 - u32::from(self.prefix))
                    .unwrap_or(0)
                    == 0
            }
            (IpAddr::V6(network), IpAddr::V6(ip)) => {
                let differing = u128::from(network) ^ u128::from(ip);
                differing
                    .checked_shr(128 - u32::from(self.prefix))
                    .unwrap_or(0)
                    == 0
            }
            _ => false,
        }
    }
}

impl FromStr for Cidr {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("`{text}` is no network; write 10.0.0.0/8, fd00::/8 or one address");
        let (network, prefix) = text
            .split_once('/')
            .map_or((text, None), |(n, p)| (n, Some(p)));
        let network: IpAddr = network.parse().map_err(|_| bad())?;
        let longest = if network.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Ok(longest), |prefix| prefix.parse().map_err(|_| bad()))?;
        if prefix > longest {
            return Err(bad());
        }
        Ok(Self { network, prefix })
    }
}

impl TryFrom<String> for Cidr {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.prefix)
    }
}

/// The address as the network sees it, and every IPv4 address it carries inside.
fn faces(ip: IpAddr) -> Vec<IpAddr> {
    let IpAddr::V6(v6) = unwrapped(ip) else {
        return vec![unwrapped(ip)];
    };
    std::iter::once(IpAddr::V6(v6))
        .chain(carried(v6).into_iter().map(IpAddr::V4))
        .collect()
}

/// Mapped and NAT64 addresses are another spelling of an IPv4 address, and judged as that.
fn unwrapped(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(v6) if NAT64.contains(ip) => IpAddr::V4(low_v4(v6)),
        other => other,
    }
}

/// What tunnels would unpack.
fn carried(ip: Ipv6Addr) -> Vec<Ipv4Addr> {
    let parts = ip.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match parts {
        // 6to4
        [0x2002, high, low, ..] => vec![v4(high, low)],
        // Teredo: the server, and the client with its bits inverted
        [0x2001, 0, high, low, _, _, client_high, client_low] => {
            vec![v4(high, low), v4(!client_high, !client_low)]
        }
        // NAT64 with a local prefix, ISATAP
        [0x64, 0xff9b, 1, ..] | [_, _, _, _, 0 | 0x200, 0x5efe, _, _] => vec![low_v4(ip)],
        _ => Vec::new(),
    }
}

fn low_v4(ip: Ipv6Addr) -> Ipv4Addr {
    Ipv4Addr::from(u128::from(ip) as u32)
}

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8) -> Cidr {
    Cidr {
        network: IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
        prefix,
    }
}

const fn v6(parts: [u16; 8], prefix: u8) -> Cidr {
    let [a, b, c, d, e, f, g, h] = parts;
    Cidr {
        network: IpAddr::V6(Ipv6Addr::new(a, b, c, d, e, f, g, h)),
        prefix,
    }
}

const METADATA_NAMES: [&str; 5] = [
    "metadata.google.internal",
    "metadata.goog",
    "metadata",
    "instance-data",
    "instance-data.ec2.internal",
];

const METADATA_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254));

const METADATA: &[Cidr] = &[
    v4(169, 254, 169, 254, 32), // AWS, Google, Azure and most others
    v4(169, 254, 170, 2, 32),   // AWS containers
    v4(169, 254, 170, 23, 32),  // AWS EKS
    v4(100, 100, 100, 200, 32), // Alibaba
    v4(192, 0, 0, 192, 32),     // Oracle
    v4(168, 63, 129, 16, 32),   // Azure, a public address that is not
    v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0], 32), // AWS
    v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128), // Google
];

const LOOPBACK: &[Cidr] = &[v4(127, 0, 0, 0, 8), v6([0, 0, 0, 0, 0, 0, 0, 1], 128)];

const PRIVATE: &[Cidr] = &[
    v4(10, 0, 0, 0, 8),
    v4(100, 64, 0, 0, 10),
    v4(172, 16, 0, 0, 12),
    v4(192, 168, 0, 0, 16),
    v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7),
];

const NAT64: Cidr = v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96);

/// The only IPv6 space given out so far; everything outside it is special.
const GLOBAL_UNICAST: Cidr = v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);

const RESERVED: &[Cidr] = &[
    v4(0, 0, 0, 0, 8),
    v4(169, 254, 0, 0, 16),
    v4(192, 0, 0, 0, 24),
    v4(192, 0, 2, 0, 24),
    v4(192, 88, 99, 0, 24),
    v4(198, 18, 0, 0, 15),
    v4(198, 51, 100, 0, 24),
    v4(203, 0, 113, 0, 24),
    v4(224, 0, 0, 0, 4),
    v4(240, 0, 0, 0, 4),
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), // protocol assignments, Teredo among them
    v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32),
    v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16),
    v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),
];
