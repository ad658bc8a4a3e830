//! Tells cargo that the migrations are part of the binary: `sqlx::migrate!` alone does not notice a new file.

fn main() {
    println!("cargo::rerun-if-changed=migrations");
}
