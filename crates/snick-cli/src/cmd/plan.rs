//! `snick plan`: the memory and traffic of each of several devices, and how to shard a model over them.

use std::fmt::Write as _;

use clap::Args;
use snick::{Mesh, ModelPlan, PlanOptions, ShardRules, Transfer};
use snick_ir::text::Escaped;

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::help;
use crate::cli::json::Answer;
use crate::cli::memory::parse_size;
use crate::cli::model;
use crate::cli::options::{Common, ModelOptions, OutputFormat};
use crate::cli::quantity::bytes;
use crate::cli::stablehlo::PrecisionName;

/// Options of the verb.
#[derive(Args)]
#[command(after_help = help::ending(
    [
        ("snick plan model.xml --devices 4 --memory 16GiB", "Propose a mesh of four devices"),
        ("snick plan model.xml --devices 8 --mesh batch=4,model=2", "Plan for this mesh"),
    ],
    "inference finds an error, or no plan fits in the memory"
))]
pub struct Options {
    #[command(flatten)]
    model: ModelOptions,
    /// Number of devices
    #[arg(long, value_name = "N", required_unless_present = "mesh", value_parser = clap::value_parser!(u32).range(1..))]
    devices: Option<u32>,
    /// The memory of a device: 16GiB, 512M
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<usize>,
    /// Plan for this mesh, as in `convert`, instead of proposing one; inputs are sharded over an axis named
    /// `batch`
    #[arg(long, value_name = "AXES")]
    mesh: Option<Mesh>,
    /// Plan for these rules, as in `convert`, instead of proposing some
    #[arg(long, value_name = "RULES", requires = "mesh")]
    shard: Option<ShardRules>,
    /// Precision, as in `convert`; highest: f32; native: the types of the model
    #[arg(long, value_name = "HOW", value_enum, default_value = "highest")]
    precision: PrecisionName,
    /// Turn variables into inputs and outputs first
    #[arg(long)]
    stateless: bool,
}

impl Options {
    fn plan(&self) -> Result<PlanOptions, Failure> {
        let devices = self.devices.and_then(|devices| usize::try_from(devices).ok());
        if let (Some(mesh), Some(devices)) = (&self.mesh, devices)
            && mesh.devices() != devices
        {
            let message = format!(
                "--mesh {mesh} has {} devices, but --devices is {devices}; omit one of them",
                mesh.devices()
            );
            return Err(Failure::usage(message));
        }
        let mut options = PlanOptions::new(devices.unwrap_or(1)).precision(self.precision.into());
        options.memory = self.memory.map(|memory| memory as u64);
        (options.mesh, options.shard) = (self.mesh.clone(), self.shard.clone());
        Ok(options)
    }
}

/// Reads, infers, plans, prints. If the plan does not fit in the memory, this is a finding.
pub fn run(options: &Options, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    let plan = options.plan()?;
    let mut model = model::load(&options.model, console)?;
    let errors = model::infer(&mut model, console)?;
    errors.iter().for_each(|error| console.located(error));
    if options.stateless {
        model.make_stateless()?.iter().for_each(|state| console.note(&state.to_string()));
    }
    let plan = model.plan(&plan)?;
    console.print(&match common.format {
        OutputFormat::Text => as_text(&plan),
        OutputFormat::Json => Answer::new("snick.plan/1", &plan).text(),
    })?;
    Ok(Outcome::finding(!errors.is_empty() || plan.fits() == Some(false)))
}

/// The total bytes of all weights.
fn model_bytes(plan: &ModelPlan) -> u64 {
    let weights = plan.arguments.iter().filter(|argument| !argument.is_input);
    let bytes = weights.map(|argument| {
        argument.element_type.byte_len(argument.dims.iter().product()).map_or(0, |bytes| bytes as u64)
    });
    bytes.sum()
}

/// Groups equal transfers and counts them, sorted by traffic.
fn counted(plan: &ModelPlan) -> Vec<(usize, &Transfer)> {
    let mut counted: Vec<(usize, &Transfer)> = Vec::new();
    for transfer in &plan.transfers {
        let is_alike = |own: &Transfer| {
            (own.collective, own.devices, own.bytes, &own.operation)
                == (transfer.collective, transfer.devices, transfer.bytes, &transfer.operation)
        };
        match counted.iter_mut().find(|(_, own)| is_alike(own)) {
            Some((count, _)) => *count += 1,
            None => counted.push((1, transfer)),
        }
    }
    counted.sort_by_key(|(count, transfer)| std::cmp::Reverse(transfer.bytes.saturating_mul(*count as u64)));
    counted
}

fn as_text(plan: &ModelPlan) -> String {
    let mut text = String::new();
    let devices = plan.mesh.devices();
    let _ = writeln!(text, "plan for {devices} device{}", if devices == 1 { "" } else { "s" });
    let _ = writeln!(text, "  --mesh {}", plan.mesh);
    let rules = plan.shard.to_string();
    if !rules.is_empty() {
        let _ = writeln!(text, "  --shard '{}'", Escaped(&rules));
    }
    let _ = writeln!(text, "\neach device holds");
    let mut line = |name: &str, size: u64, more: String| {
        let _ = writeln!(text, "  {name:11}  {}{more}", bytes(size));
    };
    line("weights", plan.weight_bytes(), format!(" of {}", bytes(model_bytes(plan))));
    line("inputs", plan.input_bytes(), String::new());
    line(
        "activations",
        plan.peak_bytes,
        format!(" at most, including results of {}", bytes(plan.result_bytes)),
    );
    let memory = match (plan.memory, plan.fits()) {
        (Some(memory), Some(true)) => format!(", fits in {}", bytes(memory)),
        (Some(memory), _) => format!(", does not fit in {}", bytes(memory)),
        _ => String::new(),
    };
    line("all", plan.device_bytes(), memory);
    let least = if plan.unplanned.is_empty() { "" } else { " at least" };
    let _ = writeln!(text, "\neach device sends{least} {} per call", bytes(plan.sent_bytes()));
    for (count, transfer) in counted(plan) {
        let _ = writeln!(
            text,
            "  {count} x {} in {} of {} devices, e.g. for {} {}",
            bytes(transfer.bytes),
            transfer.collective.name(),
            transfer.devices,
            transfer.operation,
            Escaped(&transfer.value)
        );
    }
    if !plan.unplanned.is_empty() {
        let _ = writeln!(text, "\ntraffic unknown for");
    }
    for unplanned in &plan.unplanned {
        let (operation, value) = (&unplanned.operation, Escaped(&unplanned.value));
        let _ = writeln!(text, "  {operation} {value}: {}", unplanned.reason);
    }
    text
}
