//! `numeric` as the text of its digits. It has up to 131,072 of them before the point, so nothing smaller than text can
//! hold it.

use super::read::Reader;

const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xC000;
const INFINITY: u16 = 0xD000;
const NEGATIVE_INFINITY: u16 = 0xF000;

/// Groups of four digits: how many, the power of the first, the sign, digits behind the point, the groups.
pub(crate) fn text(reader: &mut Reader<'_>) -> Result<String, String> {
    let count = u16::from_be_bytes(reader.array()?);
    let weight = i32::from(i16::from_be_bytes(reader.array()?));
    let sign = u16::from_be_bytes(reader.array()?);
    let scale = usize::from(u16::from_be_bytes(reader.array()?));
    match sign {
        NAN => return Ok("NaN".into()),
        INFINITY => return Ok("Infinity".into()),
        NEGATIVE_INFINITY => return Ok("-Infinity".into()),
        _ => {}
    }
    let mut groups = Vec::with_capacity(usize::from(count).min(reader.0.len()));
    for _ in 0..count {
        groups.push(u16::from_be_bytes(reader.array()?));
    }
    let group = |power: i32| {
        let index = usize::try_from(weight - power).ok();
        index
            .and_then(|index| groups.get(index))
            .copied()
            .unwrap_or(0)
    };
    let mut result = String::new();
    if sign == NEGATIVE {
        result.push('-');
    }
    result.push_str(&group(weight.max(0)).to_string());
    for power in (0..weight.max(0)).rev() {
        result.push_str(&format!("{:04}", group(power)));
    }
    if scale > 0 {
        result.push('.');
        let end = result.len() + scale;
        let mut power = -1;
        while result.len() < end {
            result.push_str(&format!("{:04}", group(power)));
            power -= 1;
        }
        result.truncate(end);
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(weight: i16, sign: u16, scale: u16, groups: &[u16], expected: &str) {
        let mut bytes = Vec::new();
        bytes.extend((groups.len() as u16).to_be_bytes());
        bytes.extend(weight.to_be_bytes());
        bytes.extend(sign.to_be_bytes());
        bytes.extend(scale.to_be_bytes());
        for group in groups {
            bytes.extend(group.to_be_bytes());
        }
        assert_eq!(text(&mut Reader(&bytes)).as_deref(), Ok(expected));
    }

    #[test]
    fn digits_come_out_as_they_went_in() {
        check(0, 0, 0, &[], "0");
        check(0, 0, 2, &[], "0.00");
        check(0, 0, 2, &[1, 5000], "1.50");
        check(1, NEGATIVE, 0, &[12, 3456], "-123456");
        check(2, 0, 0, &[1], "100000000");
        check(-1, 0, 4, &[1], "0.0001");
        check(-2, 0, 6, &[1200], "0.000012");
        check(0, NAN, 0, &[], "NaN");
        check(0, NEGATIVE_INFINITY, 0, &[], "-Infinity");
    }

    #[test]
    fn a_value_that_is_cut_short_is_an_error() {
        assert!(text(&mut Reader(&[0, 9, 0, 0, 0, 0, 0, 0, 0, 1])).is_err());
        assert!(text(&mut Reader(&[])).is_err());
    }
}
