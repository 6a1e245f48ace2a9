//! Numbers as bytes: what a search writes down to go on elsewhere or later.
//!
//! Small numbers take one byte (LEB128). Whoever reads must expect anything: a file may have been cut off.

use std::fmt;

/// What was read is not what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the state of the search is damaged")
    }
}

impl std::error::Error for Damaged {}

/// Stands for these bytes: whoever reads them again finds out whether they are still the same.
pub fn checksum(bytes: &[u8]) -> u64 {
    use std::hash::Hasher;
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

/// Bytes to be written.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// A number.
    pub fn number(&mut self, number: impl Into<u64>) {
        let mut rest = number.into();
        while rest >= 0x80 {
            self.bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.bytes.push(rest as u8);
    }

    /// The size of something.
    pub fn count(&mut self, count: usize) {
        self.number(count as u64);
    }

    /// A number that may be negative.
    pub fn signed(&mut self, number: i32) {
        self.number((number << 1 ^ number >> 31) as u32);
    }

    /// A number that may be any, in eight bytes.
    pub fn hash(&mut self, hash: u64) {
        self.bytes.extend_from_slice(&hash.to_le_bytes());
    }

    /// Bytes and how many there are.
    pub fn block(&mut self, block: &[u8]) {
        self.count(block.len());
        self.bytes.extend_from_slice(block);
    }

    /// Bytes that were written elsewhere.
    pub fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// What was written.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What was written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Bytes to be read, in the order in which they were written.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Of what a [`Writer`] wrote.
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    /// A number.
    pub fn long(&mut self) -> Result<u64, Damaged> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or(Damaged)?;
            self.rest = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Damaged)
    }

    /// A number that fits.
    pub fn number<T: TryFrom<u64>>(&mut self) -> Result<T, Damaged> {
        T::try_from(self.long()?).map_err(|_| Damaged)
    }

    /// The size of something of which each takes at least one byte.
    pub fn count(&mut self) -> Result<usize, Damaged> {
        let count = self.number()?;
        if count > self.rest.len() { Err(Damaged) } else { Ok(count) }
    }

    /// A number that may be negative.
    pub fn signed(&mut self) -> Result<i32, Damaged> {
        let number: u32 = self.number()?;
        Ok((number >> 1) as i32 ^ -((number & 1) as i32))
    }

    /// A number of eight bytes.
    pub fn hash(&mut self) -> Result<u64, Damaged> {
        let (hash, rest) = self.rest.split_first_chunk().ok_or(Damaged)?;
        self.rest = rest;
        Ok(u64::from_le_bytes(*hash))
    }

    /// Bytes.
    pub fn block(&mut self) -> Result<&'a [u8], Damaged> {
        let count = self.count()?;
        let (block, rest) = self.rest.split_at(count);
        self.rest = rest;
        Ok(block)
    }

    /// Whether everything was read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_what_was_cut_off_is_noticed() {
        let mut writer = Writer::default();
        for number in [0u64, 1, 127, 128, 300, u64::MAX] {
            writer.number(number);
        }
        writer.signed(-1);
        writer.signed(i32::MIN);
        writer.hash(0xFEED);
        writer.block(b"xyz");
        let bytes = writer.into_bytes();
        type All = (Vec<u64>, [i32; 2], u64, Vec<u8>);
        let read = |bytes| -> Result<All, Damaged> {
            let mut reader = Reader::new(bytes);
            let numbers = (0..6).map(|_| reader.long()).collect::<Result<_, _>>()?;
            let signed = [reader.signed()?, reader.signed()?];
            Ok((numbers, signed, reader.hash()?, reader.block()?.to_vec()))
        };
        let whole = (vec![0, 1, 127, 128, 300, u64::MAX], [-1, i32::MIN], 0xFEED, b"xyz".to_vec());
        assert_eq!(read(&bytes), Ok(whole));
        for cut in 0..bytes.len() {
            assert_eq!(read(&bytes[..cut]), Err(Damaged));
        }
    }
}
