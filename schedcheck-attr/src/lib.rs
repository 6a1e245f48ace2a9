//! The `#[schedcheck]` attribute.
#![forbid(unsafe_code)]

use proc_macro::TokenStream;

/// Marks a test whose schedules `cargo schedcheck` explores.
#[proc_macro_attribute]
pub fn schedcheck(_args: TokenStream, item: TokenStream) -> TokenStream {
    item
}
