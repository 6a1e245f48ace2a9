//! Where operations stand and what objects are called, for whoever asked by name.
//!
//! Names are given on the command line (`--method`, `--var`, `--trust`, `--focus`). They are turned
//! into ranges of addresses once ([`symbols`]); an operation's place is its source location and the
//! return addresses on its thread's stack, walked by frame pointers. Each different place gets a
//! number, and what the names say about it is looked up once. Nothing of this happens unless a name
//! was given.
//!
//! A function that the compiler inlined has no frame of its own and is not seen. Tests are built
//! without optimisation unless the user wants otherwise.

mod changed;
mod source;
mod symbols;

use super::controller::World;
use crate::model::{Op, Site};
use crate::search::step::{ObjectId, Places};
pub use changed::ChangedLines;
use rustc_hash::{FxHashMap, FxHasher};
use source::Sources;
use std::cell::RefCell;
use std::hash::Hasher;
use std::rc::Rc;
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
    /// Lines for the priority `changed`.
    pub changed: Vec<ChangedLines>,
}

impl Names {
    /// Whether nothing was asked for.
    pub fn is_empty(&self) -> bool {
        let lists = [&self.methods, &self.variables, &self.trusted, &self.focus];
        lists.iter().all(|list| list.is_empty()) && self.changed.is_empty()
    }
}

/// What the names say about a place.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    method: bool,
    variable: bool,
    changed: bool,
    calm: bool,
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
    fn number(&self, site: Site, stack: Frames) -> u32 {
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
        let changed = self.names.changed.iter().any(|lines| lines.contain(site));
        met.marks.push(Marks { method: inside(&self.methods), variable, changed, calm });
        met.numbers.insert(key, number);
        number
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

impl Places for Rc<PlaceTable> {
    fn in_method(&self, site: u32) -> bool {
        self.met.borrow().marks.get(site as usize).is_some_and(|marks| marks.method)
    }

    fn is_changed(&self, site: u32) -> bool {
        self.met.borrow().marks.get(site as usize).is_some_and(|marks| marks.changed)
    }

    fn is_named(&self, object: ObjectId) -> bool {
        self.met.borrow().named.get(object.0 as usize).is_some_and(|named| *named)
    }
}

impl World {
    /// Notes where the running thread stands, about to do `op`.
    #[cold]
    #[inline(never)]
    pub(super) fn note_place(&mut self, op: &Op) {
        let Some(places) = &self.places else { return };
        let thread = &mut self.threads[self.current];
        let stack = Frames::of_caller(thread.stack_base);
        let before = std::mem::replace(&mut thread.place, places.number(op.site, stack));
        thread.held = places.is_calm(before) && places.is_calm(thread.place);
        if places.met.borrow().marks[thread.place as usize].variable {
            places.name_object(op.object);
        }
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
    /// Valid until the calling function returns.
    #[inline(always)]
    fn of_caller(base: usize) -> Frames {
        let frame: usize;
        #[cfg(target_arch = "x86_64")]
        // SAFETY: copies a register.
        unsafe {
            std::arch::asm!("mov {}, rbp", out(reg) frame, options(nomem, nostack, preserves_flags));
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: copies a register.
        unsafe {
            std::arch::asm!("mov {}, x29", out(reg) frame, options(nomem, nostack, preserves_flags));
        }
        let low = std::ptr::from_ref(&frame).addr();
        Frames { frame, low, base }
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
        // SAFETY: two words of the thread's own stack, between a live local and its base. Code
        // without frame pointers may have left anything in the register, but nothing outside is read.
        let (next, address) = unsafe { (*frame, *frame.add(1)) };
        self.low = self.frame + WORD;
        self.frame = next;
        // The call lies before the address to which it returns.
        Some(address.wrapping_sub(1))
    }
}
