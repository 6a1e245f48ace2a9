//! Where functions were inlined, from the debug information of the running program (DWARF 4 and 5).
//!
//! An inlined function has no frame of its own: its code lies within a caller's. Debug information has an
//! entry for each such copy, with its ranges of addresses and a reference to the function. Only these entries
//! are read, and those of the functions, for their names. A unit of which something cannot be read is left out,
//! like those of other languages.

use super::elf::{Elf, number, text};
use rustc_hash::FxHashMap;

/// Where one function was inlined.
#[derive(Debug, Default)]
pub(super) struct Inlined<'a> {
    /// As the linker knows it.
    pub(super) name: &'a str,
    /// As the program was linked.
    pub(super) ranges: Vec<(usize, usize)>,
}

/// All functions that were inlined somewhere.
pub(super) fn functions<'a>(elf: &Elf<'a>) -> Vec<Inlined<'a>> {
    let sections = Sections {
        info: elf.section(".debug_info"),
        abbreviations: elf.section(".debug_abbrev"),
        texts: elf.section(".debug_str"),
        line_texts: elf.section(".debug_line_str"),
        text_offsets: elf.section(".debug_str_offsets"),
        addresses: elf.section(".debug_addr"),
        ranges: elf.section(".debug_ranges"),
        range_lists: elf.section(".debug_rnglists"),
    };
    let mut found = Found::default();
    let mut at = 0;
    while let Some(unit) = Unit::at(&sections, at) {
        at = unit.end;
        // What was found before the damage is right.
        let _ = unit.read(&mut found);
    }
    found.by_name()
}

#[derive(Debug)]
struct Sections<'a> {
    info: &'a [u8],
    abbreviations: &'a [u8],
    texts: &'a [u8],
    line_texts: &'a [u8],
    text_offsets: &'a [u8],
    addresses: &'a [u8],
    ranges: &'a [u8],
    range_lists: &'a [u8],
}

#[derive(Debug, Default)]
struct Found<'a> {
    /// Names of functions, by the place of their entry.
    names: FxHashMap<usize, &'a str>,
    /// Entries that say more about another one.
    more_about: FxHashMap<usize, usize>,
    /// Copies: the place of the function's entry, and where it is.
    copies: Vec<(usize, (usize, usize))>,
}

impl<'a> Found<'a> {
    fn by_name(self) -> Vec<Inlined<'a>> {
        let mut functions: FxHashMap<&str, Vec<_>> = FxHashMap::default();
        for (entry, range) in self.copies {
            let other = || self.names.get(self.more_about.get(&entry)?);
            if let Some(name) = self.names.get(&entry).or_else(other) {
                functions.entry(name).or_default().push(range);
            }
        }
        functions.into_iter().map(|(name, ranges)| Inlined { name, ranges }).collect()
    }
}

/// Reads numbers one after the other.
#[derive(Clone, Debug)]
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn fixed(&mut self, length: usize) -> Option<u64> {
        let value = number(self.bytes, self.at, length)?;
        self.at += length;
        Some(value)
    }

    /// LEB128. Of signed numbers only the end matters here.
    fn varying(&mut self) -> Option<u64> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.fixed(1)?;
            if shift < u64::BITS {
                value |= (byte & 0x7F) << shift;
            }
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
    }

    fn skip(&mut self, length: u64) -> Option<()> {
        self.at = self.at.checked_add(usize::try_from(length).ok()?).filter(|at| *at <= self.bytes.len())?;
        Some(())
    }

    fn skip_text(&mut self) -> Option<()> {
        self.at += self.bytes.get(self.at..)?.iter().position(|byte| *byte == 0)? + 1;
        Some(())
    }
}

/// What an entry of a unit looks like.
#[derive(Debug)]
struct Shape {
    tag: u64,
    /// Attribute, form, and the value if it is part of the form.
    attributes: Vec<(u64, u64, u64)>,
}

/// A value of an attribute.
#[derive(Clone, Copy, Debug)]
enum Value<'a> {
    /// At a place of a section.
    Text(&'a [u8], usize),
    /// In the unit's table of texts.
    TextNumber(u64),
    Address(u64),
    /// In the unit's table of addresses.
    AddressNumber(u64),
    /// In the unit's table of lists.
    ListNumber(u64),
    /// The place of another entry.
    Entry(usize),
    Number(u64),
    Other,
}

/// Attributes, by their numbers in the standard.
mod attribute {
    pub(super) const NAME: u64 = 0x03;
    pub(super) const LOW: u64 = 0x11;
    pub(super) const HIGH: u64 = 0x12;
    pub(super) const ORIGIN: u64 = 0x31;
    pub(super) const SPECIFICATION: u64 = 0x47;
    pub(super) const RANGES: u64 = 0x55;
    pub(super) const LINKAGE_NAME: u64 = 0x6E;
    pub(super) const TEXTS_BASE: u64 = 0x72;
    pub(super) const ADDRESSES_BASE: u64 = 0x73;
    pub(super) const LISTS_BASE: u64 = 0x74;
}

const INLINED: u64 = 0x1D;
const FUNCTION: u64 = 0x2E;

/// One unit of compilation.
#[derive(Debug)]
struct Unit<'a, 's> {
    sections: &'s Sections<'a>,
    start: usize,
    end: usize,
    entries: usize,
    version: u64,
    /// How long an offset and an address are.
    offset: usize,
    address: usize,
    shapes: FxHashMap<u64, Shape>,
    /// Where ranges are counted from, and where its tables begin.
    low: u64,
    texts: u64,
    addresses: u64,
    lists: u64,
}

/// What matters of an entry.
#[derive(Debug, Default)]
struct Entry<'a> {
    name: Option<&'a str>,
    linkage_name: Option<&'a str>,
    origin: Option<usize>,
    low: Option<u64>,
    /// An address, or a length behind `low`.
    high: Option<(u64, bool)>,
    ranges: Option<Value<'a>>,
}

impl<'a, 's> Unit<'a, 's> {
    /// The unit at `start`; none behind the last.
    fn at(sections: &'s Sections<'a>, start: usize) -> Option<Unit<'a, 's>> {
        const WIDE: u64 = 0xFFFF_FFFF;
        let mut cursor = Cursor { bytes: sections.info, at: start };
        let mut length = cursor.fixed(4)?;
        let mut offset = 4;
        if length == WIDE {
            (length, offset) = (cursor.fixed(8)?, 8);
        }
        let end = cursor.at.checked_add(length as usize).filter(|end| *end <= sections.info.len())?;
        let unit = Unit {
            sections,
            start,
            end,
            entries: end,
            version: 0,
            offset,
            address: 8,
            shapes: FxHashMap::default(),
            low: 0,
            texts: 0,
            addresses: 0,
            lists: 0,
        };
        Some(unit.begin(cursor))
    }

    /// Reads the rest of the header; a unit that is not understood has no entries.
    fn begin(mut self, mut cursor: Cursor<'a>) -> Self {
        const COMPLETE: u64 = 1;
        let mut read = || {
            self.version = cursor.fixed(2)?;
            let abbreviations = match self.version {
                2..=4 => {
                    let abbreviations = cursor.fixed(self.offset)?;
                    self.address = cursor.fixed(1)? as usize;
                    abbreviations
                }
                5 if cursor.fixed(1)? == COMPLETE => {
                    self.address = cursor.fixed(1)? as usize;
                    cursor.fixed(self.offset)?
                }
                _ => return None,
            };
            self.shapes = shapes(self.sections.abbreviations, abbreviations)?;
            Some(cursor.at)
        };
        self.entries = read().unwrap_or(self.end);
        self
    }

    fn read(mut self, found: &mut Found<'a>) -> Option<()> {
        let bytes = &self.sections.info[..self.end];
        let mut cursor = Cursor { bytes, at: self.entries };
        let mut is_first = true;
        while cursor.at < self.end {
            let place = cursor.at;
            let code = cursor.varying()?;
            if code == 0 {
                continue;
            }
            if is_first {
                self.read_bases(code, cursor.clone())?;
                is_first = false;
            }
            let shape = self.shapes.get(&code)?;
            let matters = matches!(shape.tag, INLINED | FUNCTION);
            let mut entry = Entry::default();
            for &(attribute, form, constant) in &shape.attributes {
                let value = self.value(&mut cursor, form, constant)?;
                if matters {
                    self.note(&mut entry, attribute, value);
                }
            }
            match shape.tag {
                FUNCTION => {
                    if let Some(name) = entry.linkage_name.or(entry.name) {
                        found.names.insert(place, name);
                    }
                    if let Some(origin) = entry.origin {
                        found.more_about.insert(place, origin);
                    }
                }
                INLINED => {
                    let Some(origin) = entry.origin else { continue };
                    self.ranges(&entry, |range| found.copies.push((origin, range)));
                }
                _ => {}
            }
        }
        Some(())
    }

    /// What the unit's first entry says about all others.
    fn read_bases(&mut self, code: u64, mut cursor: Cursor<'a>) -> Option<()> {
        let mut low = None;
        let shape = self.shapes.get(&code)?;
        let (mut texts, mut addresses, mut lists) = (0, 0, 0);
        for &(attribute, form, constant) in &shape.attributes {
            let value = self.value(&mut cursor, form, constant)?;
            match (attribute, value) {
                (attribute::LOW, value) => low = Some(value),
                (attribute::TEXTS_BASE, Value::Number(base)) => texts = base,
                (attribute::ADDRESSES_BASE, Value::Number(base)) => addresses = base,
                (attribute::LISTS_BASE, Value::Number(base)) => lists = base,
                _ => {}
            }
        }
        (self.texts, self.addresses, self.lists) = (texts, addresses, lists);
        self.low = low.and_then(|low| self.address_of(low)).unwrap_or(0);
        Some(())
    }

    fn note(&self, entry: &mut Entry<'a>, attribute: u64, value: Value<'a>) {
        match attribute {
            attribute::NAME => entry.name = self.text_of(value),
            attribute::LINKAGE_NAME => entry.linkage_name = self.text_of(value),
            attribute::LOW => entry.low = self.address_of(value),
            attribute::HIGH => {
                entry.high = match value {
                    Value::Number(length) => Some((length, false)),
                    value => self.address_of(value).map(|address| (address, true)),
                }
            }
            attribute::RANGES => entry.ranges = Some(value),
            attribute::ORIGIN | attribute::SPECIFICATION => {
                if let Value::Entry(place) = value {
                    entry.origin = Some(place);
                }
            }
            _ => {}
        }
    }

    fn text_of(&self, value: Value<'a>) -> Option<&'a str> {
        match value {
            Value::Text(section, at) => text(section, at),
            Value::TextNumber(index) => {
                let at = self.texts.checked_add(index.checked_mul(self.offset as u64)?)?;
                let at = number(self.sections.text_offsets, at as usize, self.offset)?;
                text(self.sections.texts, at as usize)
            }
            _ => None,
        }
    }

    fn address_of(&self, value: Value<'_>) -> Option<u64> {
        match value {
            Value::Address(address) => Some(address),
            Value::AddressNumber(index) => {
                let at = self.addresses.checked_add(index.checked_mul(self.address as u64)?)?;
                number(self.sections.addresses, at as usize, self.address)
            }
            _ => None,
        }
    }

    /// Reads one value.
    fn value(&self, cursor: &mut Cursor<'a>, form: u64, constant: u64) -> Option<Value<'a>> {
        let own = |offset: u64| Some(Value::Entry(self.start.checked_add(offset as usize)?));
        Some(match form {
            0x01 => Value::Address(cursor.fixed(self.address)?),
            0x05 => Value::Number(cursor.fixed(2)?),
            0x06 => Value::Number(cursor.fixed(4)?),
            0x07 => Value::Number(cursor.fixed(8)?),
            0x0B => Value::Number(cursor.fixed(1)?),
            0x0D | 0x0F => Value::Number(cursor.varying()?),
            0x17 => Value::Number(cursor.fixed(self.offset)?),
            0x21 => Value::Number(constant),
            0x08 => {
                let value = Value::Text(cursor.bytes, cursor.at);
                cursor.skip_text()?;
                value
            }
            0x0E => Value::Text(self.sections.texts, cursor.fixed(self.offset)? as usize),
            0x1F => Value::Text(self.sections.line_texts, cursor.fixed(self.offset)? as usize),
            0x1A | 0x1F02 => Value::TextNumber(cursor.varying()?),
            0x25..=0x28 => Value::TextNumber(cursor.fixed(form as usize - 0x24)?),
            0x1B | 0x1F01 => Value::AddressNumber(cursor.varying()?),
            0x29..=0x2C => Value::AddressNumber(cursor.fixed(form as usize - 0x28)?),
            0x23 => Value::ListNumber(cursor.varying()?),
            0x10 if self.version == 2 => Value::Entry(cursor.fixed(self.address)? as usize),
            0x10 => Value::Entry(cursor.fixed(self.offset)? as usize),
            0x11 => own(cursor.fixed(1)?)?,
            0x12 => own(cursor.fixed(2)?)?,
            0x13 => own(cursor.fixed(4)?)?,
            0x14 => own(cursor.fixed(8)?)?,
            0x15 => own(cursor.varying()?)?,
            0x16 => {
                let form = cursor.varying()?;
                // It could refer to itself for ever.
                if form == 0x16 {
                    return None;
                }
                return self.value(cursor, form, constant);
            }
            other => {
                let length = match other {
                    0x03 => cursor.fixed(2)?,
                    0x04 => cursor.fixed(4)?,
                    0x0A => cursor.fixed(1)?,
                    0x09 | 0x18 => cursor.varying()?,
                    0x0C => 1,
                    0x19 => 0,
                    0x1C => 4,
                    0x20 | 0x24 => 8,
                    0x1E => 16,
                    0x1D | 0x1F20 | 0x1F21 => self.offset as u64,
                    0x22 => cursor.varying().map(|_| 0)?,
                    _ => return None,
                };
                cursor.skip(length)?;
                Value::Other
            }
        })
    }

    /// The ranges of an entry.
    fn ranges(&self, entry: &Entry<'_>, mut each: impl FnMut((usize, usize))) {
        let mut add = |start: u64, end: u64| {
            if start < end {
                each((start as usize, end as usize));
            }
        };
        if let Some(low) = entry.low
            && let Some((high, is_address)) = entry.high
        {
            add(low, if is_address { high } else { low.saturating_add(high) });
        }
        let _ = match entry.ranges {
            Some(Value::Number(at)) if self.version < 5 => self.old_list(at, add),
            Some(Value::Number(at)) => self.list(at, add),
            Some(Value::ListNumber(index)) => {
                let entry = self.lists.saturating_add(index.saturating_mul(self.offset as u64));
                let at = number(self.sections.range_lists, entry as usize, self.offset);
                at.and_then(|at| self.list(self.lists.checked_add(at)?, add))
            }
            _ => None,
        };
    }

    /// A list of DWARF 4.
    fn old_list(&self, at: u64, mut add: impl FnMut(u64, u64)) -> Option<()> {
        let mut cursor = Cursor { bytes: self.sections.ranges, at: at as usize };
        let mut base = self.low;
        let sets_base = u64::MAX >> (64 - 8 * self.address.clamp(1, 8));
        loop {
            match (cursor.fixed(self.address)?, cursor.fixed(self.address)?) {
                (0, 0) => return Some(()),
                (start, new) if start == sets_base => base = new,
                (start, end) => add(base.wrapping_add(start), base.wrapping_add(end)),
            }
        }
    }

    /// A list of DWARF 5.
    fn list(&self, at: u64, mut add: impl FnMut(u64, u64)) -> Option<()> {
        let mut cursor = Cursor { bytes: self.sections.range_lists, at: at as usize };
        let mut base = self.low;
        let numbered = |cursor: &mut Cursor<'_>| self.address_of(Value::AddressNumber(cursor.varying()?));
        loop {
            let (start, end) = match cursor.fixed(1)? {
                0 => return Some(()),
                1 => {
                    base = numbered(&mut cursor)?;
                    continue;
                }
                2 => (numbered(&mut cursor)?, numbered(&mut cursor)?),
                3 => {
                    let start = numbered(&mut cursor)?;
                    (start, start.wrapping_add(cursor.varying()?))
                }
                4 => (base.wrapping_add(cursor.varying()?), base.wrapping_add(cursor.varying()?)),
                5 => {
                    base = cursor.fixed(self.address)?;
                    continue;
                }
                6 => (cursor.fixed(self.address)?, cursor.fixed(self.address)?),
                7 => {
                    let start = cursor.fixed(self.address)?;
                    (start, start.wrapping_add(cursor.varying()?))
                }
                _ => return None,
            };
            add(start, end);
        }
    }
}

/// The shapes of a unit's entries, by code.
fn shapes(bytes: &[u8], at: u64) -> Option<FxHashMap<u64, Shape>> {
    const CONSTANT: u64 = 0x21;
    let mut cursor = Cursor { bytes, at: usize::try_from(at).ok()? };
    let mut shapes = FxHashMap::default();
    loop {
        let code = cursor.varying()?;
        if code == 0 {
            return Some(shapes);
        }
        let (tag, _children) = (cursor.varying()?, cursor.fixed(1)?);
        let mut attributes = Vec::new();
        loop {
            let (attribute, form) = (cursor.varying()?, cursor.varying()?);
            if (attribute, form) == (0, 0) {
                break;
            }
            let constant = if form == CONSTANT { cursor.varying()? } else { 0 };
            attributes.push((attribute, form, constant));
        }
        shapes.insert(code, Shape { tag, attributes });
    }
}

#[cfg(test)]
mod tests {
    use super::super::symbols;
    use super::*;

    #[inline(always)]
    fn marked_spot() -> usize {
        let here: usize;
        #[cfg(target_arch = "x86_64")]
        // SAFETY: reads where it stands.
        unsafe {
            std::arch::asm!("lea {}, [rip - 1]", out(reg) here, options(nomem, nostack, preserves_flags));
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: reads where it stands.
        unsafe {
            std::arch::asm!("adr {}, .", out(reg) here, options(nomem, nostack, preserves_flags));
        }
        here
    }

    #[test]
    fn a_copy_of_an_inlined_function_is_found_where_it_is() {
        let file = std::fs::read("/proc/self/exe").unwrap();
        let functions = functions(&Elf::new(&file).unwrap());
        let here = marked_spot() - symbols::load_address();
        let mut around = functions.iter().filter(|one| one.ranges.iter().any(|r| (r.0..r.1).contains(&here)));
        assert!(around.any(|one| one.name.contains("marked_spot")), "{} functions", functions.len());
    }

    #[test]
    fn damage_is_no_panic() {
        let mut file = std::fs::read("/proc/self/exe").unwrap();
        let length = Elf::new(&file).unwrap().section(".debug_info").len();
        assert!(length > 1000);
        let start = Elf::new(&file).unwrap().section(".debug_info").as_ptr().addr() - file.as_ptr().addr();
        for at in (start..start + length.min(20_000)).step_by(37) {
            file[at] = file[at].wrapping_mul(31).wrapping_add(17);
        }
        functions(&Elf::new(&file).unwrap());
    }
}
