//! The operator's desk beside a bench or an appliance, and an operator.

use oncehook::operate::{Desk, Instruction, Operator, Role, Via};
use oncehook::run::Context;

use super::app::TestApp;

/// A desk that works on the same database and rings the same bell.
pub fn desk_of(ctx: &Context) -> Desk {
    Desk { pool: ctx.pool.clone(), live: ctx.live.clone(), bell: ctx.doorbell.clone() }
}

pub fn operator() -> Operator {
    Operator { name: "ada".to_owned(), role: Role::Operate, via: Via::Api }
}

/// An order of hers.
pub fn by(operator: &Operator) -> Instruction<'_> {
    Instruction { by: operator, reason: Some("since it must") }
}

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
