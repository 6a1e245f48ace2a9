//! Wrong uses of `#[schedcheck]` are compile errors that point at the mistake.

#[test]
fn wrong_uses_of_the_attribute_point_at_the_mistake() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
