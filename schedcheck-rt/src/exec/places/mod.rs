//! Where operations stand and what objects are called, for whoever asked by name.
//!
//! Names are given on the command line (`--method`, `--var`, `--trust`, `--focus`). They are turned
//! into ranges of addresses once ([`symbols`]); an operation's place is its source location and the
//! return addresses on its thread's stack, walked by frame pointers. Each different place gets a
//! number, and what the names say about it is looked up once. Nothing of this happens unless a name
//! was given.
//!
//! A function that the compiler inlined has no frame of its own; debug information says where its code
//! lies within others ([`inlined`]). Optimisations by which calls would vanish even from there (jumps in
//! the place of last calls, equal code of several functions made one) are off in the user's crates: the
//! command's `build/wrapper.rs` has the list.

mod backtraces;
mod changed;
mod elements;
mod elf;
mod inlined;
pub(crate) mod sites;
mod source;
mod symbols;

use super::controller::World;
use super::own_stack;
use crate::model::{Kind, Op, Site};
use crate::search::step::{ObjectId, Places};
pub(crate) use backtraces::Backtraces;
pub use changed::ChangedLines;
pub use elements::Element;
use rustc_hash::{FxHashMap, FxHasher};
use source::Sources;
use std::cell::RefCell;
use std::hash::Hasher;
use symbols::Ranges;

/// The names somebody asked for.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Functions for the priority `method`: any path that ends in these elements, or goes through them.
    pub methods: Vec<String>,
    /// Statics, fields, variables or labels for the priority `var`.
    pub variables: Vec<String>,
    /// Crates, modules or functions that are not to be preempted inside, by their full path.
    pub trusted: Vec<String>,
    /// Crates, modules or functions outside of which nothing is to be preempted.
    pub focus: Vec<String>,
    /// The places of a sequence or a meeting.
    pub elements: Vec<Element>,
    /// Lines for the priority `changed`.
    pub changed: Vec<ChangedLines>,
}

impl Names {
    /// Whether nothing was asked for.
    pub fn is_empty(&self) -> bool {
        let lists = [&self.methods, &self.variables, &self.trusted, &self.focus];
        let none = lists.iter().all(|list| list.is_empty());
        none && self.changed.is_empty() && self.elements.is_empty()
    }
}

/// What the names say about a place.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    method: bool,
    variable: bool,
    changed: bool,
    calm: bool,
    /// Where it is, and what is done there.
    site: Option<(Site, Kind)>,
    /// Which of the elements it is, as a set of bits.
    elements: u64,
}

/// All places and named objects met so far.
#[derive(Debug)]
pub(crate) struct PlaceTable {
    names: Names,
    methods: Ranges,
    trusted: Ranges,
    focus: Ranges,
    statics: Ranges,
    /// Names that nothing in the program has.
    unknown: Vec<String>,
    met: RefCell<Met>,
}

#[derive(Debug, Default)]
struct Met {
    numbers: FxHashMap<u64, u32>,
    marks: Vec<Marks>,
    /// By number of the object.
    named: Vec<bool>,
    /// Labels of a sequence that were passed, by the address of their source location.
    passed: FxHashMap<usize, String>,
    /// Labelled ranges of addresses in this execution.
    labels: Vec<(usize, usize)>,
    sources: Sources,
}

impl PlaceTable {
    /// Looks the names up in the symbols of the running program.
    pub(crate) fn new(names: Names) -> PlaceTable {
        let symbols = symbols::of_this_program();
        let mut unknown = Vec::new();
        let mut functions = |paths: &[String], anchored: bool| {
            let mut ranges = Ranges::default();
            for path in paths {
                if !symbols.add_functions(path, anchored, &mut ranges) {
                    unknown.push(path.clone());
                }
            }
            ranges.finished()
        };
        let (methods, trusted, focus) = (
            functions(&names.methods, false),
            functions(&names.trusted, true),
            functions(&names.focus, true),
        );
        let mut statics = Ranges::default();
        for name in &names.variables {
            symbols.add_statics(name, &mut statics);
        }
        // Number 0: a thread that has done nothing yet.
        let outside = Marks { calm: !names.focus.is_empty(), ..Marks::default() };
        let met = RefCell::new(Met { marks: vec![outside], ..Met::default() });
        PlaceTable { methods, trusted, focus, statics: statics.finished(), unknown, met, names }
    }

    /// Paths that match no function of the program.
    pub(crate) fn unknown(&self) -> &[String] {
        &self.unknown
    }

    /// Whether some code is not to be preempted.
    pub(crate) fn restricts(&self) -> bool {
        !self.trusted.is_empty() || !self.names.focus.is_empty()
    }

    /// The number of the place of an operation whose stack has these return addresses.
    fn number(&self, op: &Op, stack: Frames) -> u32 {
        let site = op.site;
        let mut hasher = FxHasher::default();
        hasher.write_usize(std::ptr::from_ref(site).addr());
        stack.clone().for_each(|address| hasher.write_usize(address));
        let key = hasher.finish();
        let met = &mut *self.met.borrow_mut();
        if let Some(number) = met.numbers.get(&key) {
            return *number;
        }
        let inside = |ranges: &Ranges| stack.clone().any(|address| ranges.contain(address));
        let variable = !self.names.variables.is_empty()
            && met.sources.receiver(site).is_some_and(|name| self.names.variables.contains(&name));
        let calm = inside(&self.trusted) || !self.names.focus.is_empty() && !inside(&self.focus);
        let number = met.marks.len() as u32;
        let site = Some((site, op.kind));
        let mut elements = 0;
        for (element, number) in self.names.elements.iter().zip(0..u64::BITS) {
            let label = met.passed.get(&std::ptr::from_ref(op.site).addr());
            let is_at = element.is_at(op.site, || label.cloned().or_else(|| met.sources.receiver(op.site)));
            elements |= u64::from(is_at) << number;
        }
        let changed = self.names.changed.iter().any(|lines| lines.contain(op.site));
        met.marks.push(Marks { method: inside(&self.methods), variable, changed, calm, site, elements });
        met.numbers.insert(key, number);
        number
    }

    /// Where a place is, and what is done there.
    pub(super) fn site(&self, number: u32) -> Option<(Site, Kind)> {
        self.met.borrow().marks.get(number as usize)?.site
    }

    fn begin(&self) {
        self.met.borrow_mut().labels.clear();
    }

    /// Whether a thread is not to be preempted between two operations here.
    pub(super) fn is_calm(&self, site: u32) -> bool {
        self.met.borrow().marks[site as usize].calm
    }

    fn name_object(&self, object: ObjectId) {
        if !object.is_stable() || object == ObjectId::NONE {
            return;
        }
        let named = &mut self.met.borrow_mut().named;
        let at = object.0 as usize;
        if named.len() <= at {
            named.resize(at + 1, false);
        }
        named[at] = true;
    }

    /// An object was met at an address.
    pub(super) fn met_at(&self, address: usize, object: ObjectId) {
        let labelled = self.met.borrow().labels.iter().any(|(start, end)| (*start..*end).contains(&address));
        if labelled || self.statics.contain(address) {
            self.name_object(object);
        }
    }
}

impl Places for PlaceTable {
    fn in_method(&self, site: u32) -> bool {
        self.met.borrow().marks.get(site as usize).is_some_and(|marks| marks.method)
    }

    fn is_changed(&self, site: u32) -> bool {
        self.met.borrow().marks.get(site as usize).is_some_and(|marks| marks.changed)
    }

    fn is_named(&self, object: ObjectId) -> bool {
        self.met.borrow().named.get(object.0 as usize).is_some_and(|named| *named)
    }

    fn is_element(&self, site: u32, number: u32) -> bool {
        let met = self.met.borrow();
        met.marks.get(site as usize).is_some_and(|marks| marks.elements >> number & 1 != 0)
    }

    fn same_line(&self, site: u32, other: u32) -> bool {
        let line = |number: u32| self.site(number).map(|(site, _)| (site.file(), site.line()));
        site == other || line(site).is_some() && line(site) == line(other)
    }

    fn lines_before(&self, site: u32, number: u32) -> Option<u32> {
        let (site, _) = self.site(site)?;
        self.names.elements.get(number as usize)?.lines_after(site)
    }
}

impl World {
    /// Notes where the running thread stands, about to do `op`.
    #[cold]
    #[inline(never)]
    pub(super) fn note_place(&mut self, op: &Op) {
        let Some(places) = &self.places else { return };
        let thread = &mut self.threads[self.current];
        let stack = Frames::of_user(self.engine_top, thread.stack_base);
        let before = std::mem::replace(&mut thread.place, places.number(op, stack));
        thread.held = places.is_calm(before) && places.is_calm(thread.place);
        if places.met.borrow().marks[thread.place as usize].variable {
            places.name_object(op.object);
        }
    }

    /// Whether a label is a place of the sequence that was asked for.
    pub(super) fn is_place_of_sequence(&self, label: &str, site: Site) -> bool {
        let Some(places) = &self.places else { return false };
        let wanted = places.names.elements.iter().any(|element| element.is_named(label));
        if wanted {
            let key = std::ptr::from_ref(site).addr();
            places.met.borrow_mut().passed.entry(key).or_insert_with(|| label.to_owned());
        }
        wanted
    }

    /// Where a thread stands that was started at `op` and has done nothing yet.
    pub(super) fn place_of_start(&self, op: &Op) -> u32 {
        let nowhere = Frames { frame: 0, low: 1, base: 0 };
        let wanted = self.places.as_ref().filter(|places| !places.names.elements.is_empty());
        wanted.map_or(0, |places| places.number(op, nowhere))
    }

    /// A new execution begins.
    pub(super) fn forget_labels(&self) {
        if let Some(places) = &self.places {
            places.begin();
        }
    }

    /// What lies in this range of addresses is called `label`.
    pub(crate) fn label(&mut self, start: usize, end: usize, label: &str) {
        let Some(places) = &self.places else { return };
        if places.names.variables.iter().any(|name| name == label) {
            places.met.borrow_mut().labels.push((start, end));
            self.addresses.within(start, end).for_each(|object| places.name_object(object));
        }
    }
}

/// The return addresses of the calling thread, innermost first.
#[derive(Clone, Debug)]
struct Frames {
    frame: usize,
    /// Frames lie above this, each above the one before.
    low: usize,
    /// The highest address of the stack.
    base: usize,
}

impl Frames {
    /// Those of user code that called the engine, which keeps its pointer to them.
    fn of_user(engine_top: usize, base: usize) -> Frames {
        // SAFETY: the engine is at work for user code.
        let frame = unsafe { own_stack::caller(engine_top) }.stack();
        Frames { frame, low: frame, base }
    }
}

impl Iterator for Frames {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        const WORD: usize = size_of::<usize>();
        let inside = self.frame >= self.low && self.frame < self.base.saturating_sub(2 * WORD);
        if !inside || !self.frame.is_multiple_of(WORD) {
            return None;
        }
        let frame = self.frame as *const usize;
        // SAFETY: two words of the thread's own stack, between its live end and its base. Code
        // without frame pointers may have left anything in the register, but nothing outside is read.
        let (next, address) = unsafe { (*frame, *frame.add(1)) };
        self.low = self.frame + WORD;
        self.frame = next;
        // The call lies before the address to which it returns.
        Some(address.wrapping_sub(1))
    }
}
