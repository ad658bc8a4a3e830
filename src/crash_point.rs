//! Named steps at which the crash tests end the process. They exist only with the feature `failpoints`.

/// Ends the process here, without any clean-up, when the environment says `FAILPOINTS=name=return`. Other actions of the
/// crate `fail` (`pause`, `sleep`, counts) work too. Does nothing in a normal build.
pub(crate) fn crash_point(name: &'static str) {
    fail::fail_point!(name, |_| std::process::abort());
    // Without the feature the name has no use.
    let _ = name;
}
