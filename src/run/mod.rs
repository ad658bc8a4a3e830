//! stub
#[derive(Clone, Debug, Default)]
pub struct Doorbell;
impl Doorbell {
    pub fn ring(&self) {}
}
