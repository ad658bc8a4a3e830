//! An operator's desk of an appliance under test, and its figures, written when the test says so.

use oncehook::operate::Desk;

use super::app::TestApp;

impl TestApp {
    /// A desk on the appliance's database, with the configuration that it runs with.
    pub fn desk_to_look(&self) -> Desk {
        let context = self.app().context();
        Desk { pool: context.pool.clone(), live: context.live.clone(), bell: context.doorbell.clone() }
    }

    /// Writes what was counted, as happens every 10 seconds.
    pub async fn write_figures(&self) {
        let context = self.app().context();
        context.figures.flush(&context.pool).await.unwrap();
    }
}
