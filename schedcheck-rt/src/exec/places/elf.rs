//! Sections of the running program's own file.

/// A 64-bit little-endian ELF file.
#[derive(Debug)]
pub(super) struct Elf<'a> {
    file: &'a [u8],
    headers: usize,
    count: usize,
    /// The section with the names of sections.
    names: usize,
}

/// Size of a section's header.
const HEADER: usize = 64;
/// Flag of a section: it is compressed.
const COMPRESSED: u64 = 0x800;

/// The number of `length` bytes at `at`.
pub(super) fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

/// The text at `at`, up to the zero behind it.
pub(super) fn text(bytes: &[u8], at: usize) -> Option<&str> {
    let text = bytes.get(at..)?;
    std::str::from_utf8(&text[..text.iter().position(|byte| *byte == 0)?]).ok()
}

impl<'a> Elf<'a> {
    pub(super) fn new(file: &'a [u8]) -> Option<Elf<'a>> {
        if !file.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        Some(Elf {
            file,
            headers: number(file, 0x28, 8)? as usize,
            count: number(file, 0x3C, 2)? as usize,
            names: number(file, 0x3E, 2)? as usize,
        })
    }

    fn header(&self, index: usize, field: usize, length: usize) -> Option<u64> {
        let start = self.headers.checked_add(index.checked_mul(HEADER)?)?;
        number(self.file, start.checked_add(field)?, length)
    }

    fn bytes(&self, index: usize) -> Option<&'a [u8]> {
        let (start, size) = (self.header(index, 0x18, 8)? as usize, self.header(index, 0x20, 8)? as usize);
        self.file.get(start..start.checked_add(size)?)
    }

    /// A section by its name, unless it is compressed; empty if there is none.
    pub(super) fn section(&self, name: &str) -> &'a [u8] {
        let names = self.bytes(self.names).unwrap_or_default();
        let is_named = |&index: &usize| {
            let at = self.header(index, 0, 4).unwrap_or_default() as usize;
            let plain = self.header(index, 8, 8).is_some_and(|flags| flags & COMPRESSED == 0);
            plain && text(names, at) == Some(name)
        };
        (0..self.count).find(is_named).and_then(|index| self.bytes(index)).unwrap_or_default()
    }

    /// The symbol table, and the texts it refers to.
    pub(super) fn symbols(&self) -> Option<(&'a [u8], &'a [u8])> {
        const SYMBOL_TABLE: u64 = 2;
        let table = (0..self.count).find(|index| self.header(*index, 4, 4) == Some(SYMBOL_TABLE))?;
        let texts = self.header(table, 0x28, 4)? as usize;
        Some((self.bytes(table)?, self.bytes(texts)?))
    }
}
