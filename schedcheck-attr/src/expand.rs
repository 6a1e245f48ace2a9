//! From a marked function to an ordinary `#[test]` and the hidden sibling that tells our harness about it.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Meta, Result, Safety, Signature, Token, Visibility};

use crate::args;

/// A function as far as the attribute needs to know it; the body is passed on unread.
struct MarkedFunction {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    signature: Signature,
    body: TokenStream,
}

impl Parse for MarkedFunction {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        if let Some(keyword) = item_keyword_other_than_fn(input) {
            let message = format!("`#[schedcheck]` marks a test function, this is a `{keyword}` item");
            return Err(Error::new_spanned(keyword, message));
        }
        Ok(MarkedFunction { attributes, visibility, signature: input.parse()?, body: input.parse()? })
    }
}

/// The word that makes this item something else than a function: the first one that no function starts with.
fn item_keyword_other_than_fn(input: ParseStream<'_>) -> Option<TokenTree> {
    const KEYWORDS: &[&str] =
        &["struct", "enum", "union", "mod", "impl", "trait", "type", "static", "use", "macro_rules"];
    let tokens: TokenStream = input.fork().parse().ok()?;
    let mut before_fn = tokens.into_iter().take_while(|token| token.to_string() != "fn");
    before_fn.find(|token| KEYWORDS.contains(&token.to_string().as_str()))
}

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let function: MarkedFunction = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => return with_errors(item, &error),
    };
    let problems = unsuitable_parts(&function.signature);
    match (problems, args::options_text(arguments)) {
        (None, Ok(options)) => {
            let test = ordinary_test(&function);
            let sibling = options_sibling(&function, &options);
            quote!(#test #sibling)
        }
        // Without `#[test]`, so that rustc does not repeat the complaint about the signature in other words.
        (Some(mut problems), arguments) => {
            if let Err(error) = arguments {
                problems.combine(error);
            }
            with_errors(quote!(#[allow(dead_code, reason = "it is no test yet")] #item), &problems)
        }
        (None, Err(error)) => with_errors(ordinary_test(&function), &error),
    }
}

/// The item stays in the output, so that a mistake here does not look like a missing item elsewhere.
fn with_errors(item: TokenStream, errors: &Error) -> TokenStream {
    let errors = errors.to_compile_error();
    quote!(#errors #item)
}

/// What in the signature cannot be a test, each with its place.
fn unsuitable_parts(signature: &Signature) -> Option<Error> {
    let mut problems = Vec::new();
    let mut problem = |tokens: &dyn ToTokens, reason: &str| {
        let message = format!("`#[schedcheck]` cannot mark {reason}");
        problems.push(Error::new_spanned(tokens.to_token_stream(), message));
    };
    if let Some(keyword) = &signature.asyncness {
        problem(keyword, "an `async fn`: run the future with an executor inside a plain `fn`");
    }
    if let Safety::Unsafe(keyword) = &signature.safety {
        // It wants a promise (what a SAFETY comment argues) that no harness can give.
        problem(keyword, "an `unsafe fn`: use an `unsafe` block inside");
    }
    if !signature.generics.params.is_empty() {
        problem(&signature.generics, "a generic function: nothing says which instance to run");
    }
    if !signature.inputs.is_empty() {
        problem(&signature.inputs, "a function with parameters: nothing supplies their values");
    }
    problems.into_iter().reduce(|mut all, next| {
        all.combine(next);
        all
    })
}

fn ordinary_test(function: &MarkedFunction) -> TokenStream {
    let MarkedFunction { attributes, visibility, signature, body } = function;
    let already_a_test = attributes.iter().any(is_test_attribute);
    let test = (!already_a_test).then(|| quote!(#[::core::prelude::v1::test]));
    quote!(#test #(#attributes)* #visibility #signature #body)
}

/// `#[test]` by any of its names: `core::prelude::v1::test` is what careful macros write.
fn is_test_attribute(attribute: &Attribute) -> bool {
    let path: Vec<String> =
        attribute.path().segments.iter().map(|segment| segment.ident.to_string()).collect();
    matches!(path.join("::").as_str(), "test" | "core::prelude::v1::test" | "std::prelude::v1::test")
}

/// A second test by whose name and call our harness learns that `function` is marked, and with which options.
///
/// It goes through a macro of `schedcheck-rt` that is empty under plain `cargo test`: a
/// `#[cfg(schedcheck)]` here would be an `unexpected_cfgs` warning in the user's crate.
fn options_sibling(function: &MarkedFunction, options: &str) -> TokenStream {
    // At the call site: lints stay quiet about names that come out of a macro.
    let name =
        format_ident!("__schedcheck_options_{}", function.signature.ident.unraw(), span = Span::call_site());
    let conditions = function.attributes.iter().filter_map(condition);
    quote! {
        ::schedcheck_rt::__private_if_schedcheck! {
            #(#conditions)*
            #[::core::prelude::v1::test]
            #[doc(hidden)]
            fn #name() {
                ::schedcheck_rt::__private::register(#options)
            }
        }
    }
}

/// The part of an attribute that decides whether the item exists at all.
fn condition(attribute: &Attribute) -> Option<TokenStream> {
    if attribute.path().is_ident("cfg") {
        return Some(attribute.to_token_stream());
    }
    if !attribute.path().is_ident("cfg_attr") {
        return None;
    }
    let parts = attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).ok()?;
    let mut parts = parts.into_iter();
    let predicate = parts.next()?;
    let conditions: Vec<Meta> = parts.filter(|part| part.path().is_ident("cfg")).collect();
    (!conditions.is_empty()).then(|| quote!(#[cfg_attr(#predicate, #(#conditions),*)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arguments: TokenStream, item: TokenStream, expected: TokenStream) {
        assert_eq!(expand(arguments, item).to_string(), expected.to_string());
    }

    fn sibling(conditions: TokenStream, name: TokenStream, options: &str) -> TokenStream {
        quote! {
            ::schedcheck_rt::__private_if_schedcheck! {
                #conditions
                #[::core::prelude::v1::test]
                #[doc(hidden)]
                fn #name() {
                    ::schedcheck_rt::__private::register(#options)
                }
            }
        }
    }

    #[test]
    fn a_function_becomes_a_test_with_a_sibling() {
        let registered = sibling(quote!(), quote!(__schedcheck_options_transfer), "bound=2");
        check(
            quote!(bound = 2),
            quote!(
                fn transfer() {
                    run()
                }
            ),
            quote!(#[::core::prelude::v1::test] fn transfer() { run() } #registered),
        );
    }

    #[test]
    fn a_test_attribute_is_not_doubled_and_the_other_attributes_stay() {
        let registered = sibling(quote!(), quote!(__schedcheck_options_type), "");
        let function = quote! {
            #[test]
            #[should_panic(expected = "no")]
            #[ignore]
            pub(crate) fn r#type() -> Result<(), E> {}
        };
        check(quote!(), function.clone(), quote!(#function #registered));
    }

    #[test]
    fn the_sibling_exists_exactly_when_the_test_does() {
        let conditions = quote! {
            #[cfg(unix)]
            #[cfg_attr(feature = "f", cfg(debug_assertions))]
        };
        let registered = sibling(conditions, quote!(__schedcheck_options_t), "");
        let function = quote! {
            #[cfg(unix)]
            #[doc = "d"]
            #[cfg_attr(feature = "f", ignore, cfg(debug_assertions))]
            #[cfg_attr(miri, ignore)]
            fn t() {}
        };
        check(quote!(), function.clone(), quote!(#[::core::prelude::v1::test] #function #registered));
    }

    #[test]
    fn a_body_of_unknown_syntax_is_passed_on() {
        let expansion = expand(quote!(), quote!(fn t() { some ~~ future syntax }));
        assert!(expansion.to_string().contains("some ~ ~ future syntax"));
    }

    #[test]
    fn an_item_that_cannot_be_a_test_stays_beside_its_error() {
        let expansion = expand(
            quote!(),
            quote!(
                struct S;
            ),
        )
        .to_string();
        assert!(expansion.contains("compile_error") && expansion.ends_with("struct S ;"), "{expansion}");
    }
}
