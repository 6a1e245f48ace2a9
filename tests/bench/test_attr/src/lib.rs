//! `#[test]` as the prelude of `peer_std` has it: the body is handed to the peer, which runs it many times.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// Puts the body of a test without arguments into `std::attempt::run`.
#[proc_macro_attribute]
pub fn test(_arguments: TokenStream, function: TokenStream) -> TokenStream {
    let mut tokens: Vec<TokenTree> = function.into_iter().collect();
    let Some(TokenTree::Group(body)) = tokens.pop() else { panic!("a function has a body") };
    let attribute: TokenStream = "#[::core::prelude::v1::test]".parse().expect("an attribute");
    let call: TokenStream = format!("::std::attempt::run(|| {body})").parse().expect("a call");
    let body = TokenTree::Group(Group::new(Delimiter::Brace, call));
    attribute.into_iter().chain(tokens).chain([body]).collect()
}
