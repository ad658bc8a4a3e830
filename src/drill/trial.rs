//! Part two of the drill: a random load, faults under it, a quiet time after it, and the figures.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use serde_json::json;
use tokio::{task::JoinSet, time::Instant};

use super::{
    Ground, Order,
    aftermath::{self, DRAINED_WITHIN},
    fleet::{Fleet, Site, Way},
    journal::{self, Journal},
    ledger,
    load::{Plan, Sender},
    member::{self, Member, Recipe},
    nemesis::Nemesis,
    profile::Scale,
    report::{Effects, Load},
    sink::Effect,
    verdict::{self, Verdict},
};
use crate::clock::Clock;

/// The HTTP consumers.
const SINKS: [&str; 2] = ["naive", "idempotent"];

/// Everything that runs during the load.
struct Cast {
    site: Site,
    fleet: Fleet,
    _sinks: JoinSet<()>,
}

/// Runs it.
///
/// # Errors
/// When something cannot be started, or the drill's own parts break down.
pub async fn run(order: &Order, ground: &Ground<'_>, step: &impl Fn(String)) -> anyhow::Result<(Load, Vec<Verdict>)> {
    let routes = 3 + usize::from(ledger::IS_ROUTED);
    let scale = order.scale(routes);
    step(format!("part two: starting {} receivers and {} workers", scale.nodes, scale.nodes));
    let cast = start(order, ground, &scale).await?;
    let mut notes = Notes::begin(order, ground, &scale, &cast)?;
    let faults: usize = scale.faults.iter().map(|(_, count)| count).sum();
    let seconds = scale.load.as_secs();
    step(format!("sending {} events over {seconds} s, with {faults} faults (seed {})", scale.events, order.seed));
    let plan = Plan::of(order.seed, &scale);
    let journal = Journal::open(&ground.home.file("sends.jsonl"))?;
    let receivers = cast.fleet.receivers.iter().zip(&cast.fleet.intakes);
    let receivers = receivers.map(|(member, intake)| (member.name().to_owned(), *intake)).collect();
    let sender = Arc::new(Sender::new(receivers, journal, scale.connections)?);
    let journal = Journal::open(&ground.home.file("faults.jsonl"))?;
    let nemesis = Nemesis::new(&ground.cluster, &cast.fleet, journal, &scale);

    let begun = Instant::now();
    notes.phase("load")?;
    let sending = sender.send_all(&plan, scale.connections, order.seed);
    let raging = async {
        nemesis.rage(order.seed, &scale).await?;
        tokio::time::sleep_until(begun + scale.load).await;
        step("quiet: no more faults, waiting for the rest".to_owned());
        notes.phase("quiet")?;
        anyhow::Ok(Instant::now())
    };
    let quiet_within = scale.load * 2 + DRAINED_WITHIN;
    let both = async { tokio::try_join!(raging, sending) };
    let (quiet_since, ()) = tokio::time::timeout(quiet_within, both).await.context("the senders came to no end")??;
    let drained = aftermath::until_drained(&ground.cluster, quiet_since, order.drained_within()).await?;
    notes.phase("end")?;

    let stored = aftermath::count(&ground.cluster).await?;
    let recovery = aftermath::measure_recovery(&ground.cluster, &ground.home.file("faults.jsonl")).await?;
    let injected = nemesis.counts();
    let checks = verdict::of_the_drill(&scale, &stored, drained, order.drained_within());
    let load = Load {
        seconds: scale.load.as_secs_f64(),
        sent: sender.tally().now(),
        effects: effects(ground)?,
        faults: injected.iter().map(|(fault, count)| (fault.name(), *count)).collect(),
        deliveries_per_second: rate(stored.deliveries.values().sum(), scale.load),
        stored,
        drained_in_ms: drained.map(|time| time.as_millis()),
        recovery,
    };
    cast.fleet.end().await;
    Ok((load, checks))
}

async fn start(order: &Order, ground: &Ground<'_>, scale: &Scale) -> anyhow::Result<Cast> {
    let mut sinks = JoinSet::new();
    let mut addresses = BTreeMap::new();
    for name in SINKS {
        let sink = ground.roster.add(sink_recipe(order, ground, name)?);
        addresses.insert(name, sink.address());
        let keeper: Arc<Member> = sink.clone();
        sinks.spawn(async move { drop(keeper.keep().await) });
        sink.until_up().await?;
    }
    let http = |name, sink: &str, order| Way {
        source: "github",
        name,
        destination: format!("kind = \"http\"\nurl = \"http://{}/\"\ntimeout = \"2s\"", addresses[sink]),
        order,
        events: "*",
    };
    let mut ways = vec![
        http("naive", "naive", "arrival"),
        http("idempotent", "idempotent", "arrival"),
        http("unordered", "idempotent", "none"),
    ];
    if ledger::IS_ROUTED {
        let destination = ledger::DESTINATION.to_owned();
        ways.push(Way { name: "ledger", source: "github", destination, order: "arrival", events: "*" });
    }
    let database_url = ground.cluster.url_of("oncehook");
    let site = Site { name: "load", database_url, ways, control: order.control() };
    site.migrate(ground).await?;
    #[cfg(feature = "sabotage")]
    if let Some(control) = order.control {
        super::sabotage::apply(control, &site.database_url).await?;
    }
    ledger::make(&mut ground.cluster.connect("oncehook").await?).await?;
    let fleet = Fleet::start(ground, &site, scale.nodes).await?;
    Ok(Cast { site, fleet, _sinks: sinks })
}

fn sink_recipe(order: &Order, ground: &Ground<'_>, name: &str) -> anyhow::Result<Recipe> {
    let address = member::free_address()?;
    let path = |path: PathBuf| path.to_string_lossy().into_owned();
    let mut arguments = vec!["drill-sink".to_owned(), "--listen".to_owned(), address.to_string()];
    arguments.extend(["--journal".to_owned(), path(effects_file(ground, name))]);
    arguments.extend(["--faults".to_owned(), path(ground.home.file("faults-sinks.jsonl"))]);
    arguments.extend(["--seed".to_owned(), order.seed.to_string()]);
    arguments.extend((name == "idempotent").then(|| "--idempotent".to_owned()));
    let name = format!("sink-{name}");
    Ok(Recipe { log: ground.home.log_of(&name), name, arguments, environment: Vec::new(), address })
}

fn effects_file(ground: &Ground<'_>, sink: &str) -> PathBuf {
    ground.home.file(&format!("effects-{sink}.jsonl"))
}

fn effects(ground: &Ground<'_>) -> anyhow::Result<BTreeMap<&'static str, Effects>> {
    let of = |sink| {
        let calls: Vec<Effect> = journal::read(&effects_file(ground, sink))?;
        let effects = calls.iter().filter(|call| call.effect);
        let deliveries: BTreeSet<_> = effects.clone().map(|call| &call.delivery).collect();
        anyhow::Ok((sink, Effects { calls: calls.len(), effects: effects.count(), deliveries: deliveries.len() }))
    };
    SINKS.into_iter().map(of).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a count of at most millions, for people")]
fn rate(deliveries: i64, over: Duration) -> f64 {
    deliveries as f64 / over.as_secs_f64()
}

/// `drill.json`: what was planned, and when what began. The checker reads it.
struct Notes {
    file: PathBuf,
    text: serde_json::Value,
}

impl Notes {
    fn begin(order: &Order, ground: &Ground<'_>, scale: &Scale, cast: &Cast) -> anyhow::Result<Self> {
        let routes: Vec<_> = (cast.site.ways.iter())
            .map(|way| json!({ "name": way.name, "source": "github", "order": way.order }))
            .collect();
        let faults: BTreeMap<_, _> =
            scale.faults.iter().map(|(fault, count)| (fault.name(), (count * 9 / 10).max(1))).collect();
        let text = json!({
            "seed": order.seed,
            "profile": order.profile.name(),
            "control": order.control(),
            "version": env!("CARGO_PKG_VERSION"),
            "commit": option_env!("ONCEHOOK_COMMIT"),
            "events": scale.events,
            "routes": routes,
            "faults": faults,
            "dead_letters": 0,
            "processes": cast.fleet.members().map(|member| member.name()).chain(SINKS).collect::<Vec<_>>(),
            "phases": [],
        });
        let notes = Self { file: ground.home.file("drill.json"), text };
        notes.write()?;
        Ok(notes)
    }

    fn phase(&mut self, name: &str) -> anyhow::Result<()> {
        let begins = json!({ "phase": name, "at_us": Clock::system().now().timestamp_micros() });
        if let Some(phases) = self.text["phases"].as_array_mut() {
            phases.push(begins);
        }
        self.write()
    }

    fn write(&self) -> anyhow::Result<()> {
        std::fs::write(&self.file, format!("{:#}\n", self.text)).context("failed to write drill.json")
    }
}
