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

    /// The functions and statics in the symbol table.
    pub(super) fn symbols(&self) -> impl Iterator<Item = Entry<'a>> {
        const SYMBOL_TABLE: u64 = 2;
        const ENTRY: usize = 24;
        let is_table = |index: &usize| self.header(*index, 4, 4) == Some(SYMBOL_TABLE);
        let table = (0..self.count).find(is_table);
        let texts =
            table.and_then(|table| self.bytes(self.header(table, 0x28, 4)? as usize)).unwrap_or_default();
        let table = table.and_then(|table| self.bytes(table)).unwrap_or_default();
        table.chunks_exact(ENTRY).filter_map(|entry| Entry::read(entry, texts))
    }
}

/// A function or a static. Its place is counted from where the program was loaded.
pub(super) struct Entry<'a> {
    pub(super) name: &'a str,
    pub(super) start: usize,
    pub(super) length: usize,
    pub(super) is_function: bool,
}

impl<'a> Entry<'a> {
    fn read(entry: &[u8], texts: &'a [u8]) -> Option<Entry<'a>> {
        const STATIC: u64 = 1;
        const FUNCTION: u64 = 2;
        let kind = number(entry, 4, 1)? & 0xF;
        let length = number(entry, 16, 8)? as usize;
        if !matches!(kind, STATIC | FUNCTION) || length == 0 {
            return None;
        }
        let name = text(texts, number(entry, 0, 4)? as usize)?;
        let start = number(entry, 8, 8)? as usize;
        Some(Entry { name, start, length, is_function: kind == FUNCTION })
    }
}
