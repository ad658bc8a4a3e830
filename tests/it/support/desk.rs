//! The operator's desk beside a bench or an appliance, and an operator.

use oncehook::operate::{Desk, Instruction, Operator, Role, Via};
use oncehook::run::Context;

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
