//! What both ends share, so that no stranger uses one of them.
//!
//! It never crosses the network: who calls proves that he knows it, then who listens does, each by
//! a keyed hash (BLAKE3, keyed mode) over both ends' nonces. It keeps strangers out; what is said
//! and measured afterwards is not encrypted.

use std::fmt::Write as _;
use std::io::Read;

use host::sys::{Error, Host};

/// The variable that holds it. A flag would show it to everybody on the machine (ps(1)).
const VARIABLE: &str = "BRICKYARD_TOKEN";

/// A shorter one can be guessed.
const LENGTH_MIN: usize = 16;

/// A secret of both ends.
#[derive(Clone)]
pub struct Token {
    key: [u8; 32],
    text: String,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// Whose proof it is: one end's cannot be played back as the other's.
#[derive(Clone, Copy, Debug)]
pub(super) enum ProofSide {
    /// Who calls.
    Caller,
    /// Who listens.
    Listener,
}

impl Token {
    /// That of the environment.
    ///
    /// # Errors
    /// When it is too short to keep anybody out.
    pub fn from_environment() -> Result<Option<Token>, Error> {
        match std::env::var(VARIABLE) {
            Err(_) => Ok(None),
            Ok(text) => Token::new(&text).map(Some),
        }
    }

    /// This one.
    ///
    /// # Errors
    /// When it is too short to keep anybody out.
    pub fn new(text: &str) -> Result<Token, Error> {
        if text.len() < LENGTH_MIN {
            let why = format!("it has {} bytes, and {LENGTH_MIN} are the least", text.len());
            let hint = format!("unset {VARIABLE}, and `brickyard receive` draws one");
            return Err(Error::new(format!("cannot use the token in {VARIABLE}"), why).hint(hint));
        }
        let key = blake3::derive_key("brickyard 2026-11 token of both ends", text.as_bytes());
        Ok(Token { key, text: text.to_owned() })
    }

    /// A new one.
    ///
    /// # Errors
    /// When the kernel gives no random bytes.
    pub fn draw() -> Result<Token, Error> {
        Token::new(&nonce()?[..32])
    }

    /// As it is typed: `BRICKYARD_TOKEN=...`.
    pub fn assignment(&self) -> String {
        format!("{VARIABLE}={}", self.text)
    }

    /// What `by` sends to prove that it knows the token.
    pub(super) fn proof(
        &self,
        by: ProofSide,
        callers_nonce: &str,
        listeners_nonce: &str,
    ) -> String {
        let who = match by {
            ProofSide::Caller => "caller",
            ProofSide::Listener => "listener",
        };
        let said = format!("{who}\n{callers_nonce}\n{listeners_nonce}");
        blake3::keyed_hash(&self.key, said.as_bytes()).to_hex().to_string()
    }

    /// Whether `proof` is that of `by`; takes as long for any wrong one.
    pub(super) fn is_proven(
        &self,
        proof: &str,
        by: ProofSide,
        callers_nonce: &str,
        listeners_nonce: &str,
    ) -> bool {
        let right = self.proof(by, callers_nonce, listeners_nonce);
        // Hashes compare in constant time.
        blake3::hash(right.as_bytes()) == blake3::hash(proof.as_bytes())
    }
}

/// 32 random bytes, in hexadecimal.
///
/// # Errors
/// When the kernel gives none.
pub(super) fn nonce() -> Result<String, Error> {
    let mut bytes = [0; 32];
    let read = Host::live().open("/dev/urandom")?.read_exact(&mut bytes);
    read.map_err(|why| Error::new("cannot read /dev/urandom", why))?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_holds_for_its_end_its_nonces_and_its_token_alone() {
        let (token, other) = (Token::draw().unwrap(), Token::draw().unwrap());
        let proof = token.proof(ProofSide::Caller, "a", "b");
        assert!(token.is_proven(&proof, ProofSide::Caller, "a", "b"));
        assert!(!token.is_proven(&proof, ProofSide::Listener, "a", "b"));
        assert!(!token.is_proven(&proof, ProofSide::Caller, "a", "c"));
        assert!(!token.is_proven(&proof, ProofSide::Caller, "b", "a"));
        assert!(!other.is_proven(&proof, ProofSide::Caller, "a", "b"));
        assert!(!token.is_proven("", ProofSide::Caller, "a", "b"));
    }

    #[test]
    fn a_token_is_as_it_was_typed_and_not_in_what_is_printed_of_it() {
        let token = Token::new("correct horse battery").unwrap();
        assert_eq!(token.assignment(), "BRICKYARD_TOKEN=correct horse battery");
        assert!(!format!("{token:?}").contains("horse"));
        assert!(Token::new("short").unwrap_err().to_string().contains("16"));
    }
}
