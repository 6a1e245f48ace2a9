//! What identifies files and sources: SHA-256 of their contents, never times or places.
use std::io::Read;

use camino::Utf8Path;
use fs_err as fs;
use hmac_sha256::Hash;

use crate::error::Result;

/// The fingerprint of a file's contents, in hexadecimal.
pub fn of_file(path: &Utf8Path) -> Result<String> {
    let mut file = fs::File::open(path)?;
    let mut hasher = Hash::new();
    // A test binary may have hundreds of megabytes.
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hexadecimal(&hasher.finalize())),
            count => hasher.update(&buffer[..count]),
        }
    }
}

/// The fingerprint of bytes, in hexadecimal.
pub fn of_bytes(bytes: &[u8]) -> String {
    hexadecimal(&Hash::hash(bytes))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_fingerprint_of_its_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path()).unwrap().join("file");
        // The examples of FIPS 180-2, and something longer than the buffer.
        let long = vec![b'a'; 1_000_000];
        for (bytes, expected) in [
            (&b""[..], "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            (b"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (&long, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
        ] {
            fs::write(&path, bytes).unwrap();
            assert_eq!(of_file(&path).unwrap(), expected);
            assert_eq!(of_bytes(bytes), expected);
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let error = of_file(Utf8Path::new("no/such/file")).unwrap_err().to_string();
        assert!(error.contains("no/such/file"), "{error}");
    }
}
