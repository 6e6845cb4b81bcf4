//! `cargo xtask chaos`: the storm of `crates/app/tests/chaos.rs` for as long as one likes.

use std::process::Command;

/// The test command of the storm, from the words after `chaos`.
pub(crate) fn command(cargo: &str, words: &[String]) -> Result<Command, String> {
    let mut command = Command::new(cargo);
    command.args(["test", "-p", "pawl", "--test", "chaos", "--"]);
    command.args(["storm", "--exact", "--nocapture"]);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let variable = match word.as_str() {
            "--minutes" => "PAWL_CHAOS_MINUTES",
            "--seed" => "PAWL_CHAOS_SEED",
            "--schedules" => "PAWL_CHAOS_SCHEDULES",
            other => return Err(format!("`{other}`: {USAGE}")),
        };
        let number = words.next().filter(|text| text.parse::<u64>().is_ok());
        let number = number.ok_or_else(|| format!("{word} needs a number; {USAGE}"))?;
        command.env(variable, number);
    }
    Ok(command)
}

const USAGE: &str = "write: cargo xtask chaos [--minutes N | --schedules N] [--seed S]";

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(words: &[&str]) -> Result<Vec<(String, String)>, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let command = command("cargo", &words)?;
        let text = |part: &std::ffi::OsStr| part.to_string_lossy().into_owned();
        Ok(command
            .get_envs()
            .filter_map(|(name, value)| Some((text(name), text(value?))))
            .collect())
    }

    #[test]
    fn the_words_become_variables() {
        let both = variables(&["--seed", "7", "--minutes", "3"]).unwrap();
        let expected = [("PAWL_CHAOS_MINUTES", "3"), ("PAWL_CHAOS_SEED", "7")];
        assert_eq!(
            both,
            expected.map(|(name, value)| (name.into(), value.into()))
        );
        assert_eq!(variables(&[]), Ok(Vec::new()));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for words in [&["--seed"][..], &["--seed", "x"], &["--hours", "1"], &["5"]] {
            assert!(variables(words).is_err(), "{words:?}");
        }
    }
}
