//! Plans how a model runs on several devices: how to shard it, and how many bytes each device stores and
//! sends. Needs the shapes of the model but not its weights.

mod propose;

use serde::{Serialize, Serializer};
use snick_emit::stablehlo::{self, ArgumentData, Module, Partition, Program};
use snick_emit::{Mesh, Precision, ShardRules};
use snick_tensor::ElementType;

pub use snick_emit::stablehlo::{Collective, Transfer, Unplanned};

use super::serial;
use crate::{Error, Model};

/// Options of a plan.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct PlanOptions {
    /// The number of devices. Ignored if a mesh is given.
    pub devices: usize,
    /// The memory of a device in bytes.
    pub memory: Option<u64>,
    /// The mesh to use, instead of a proposed one.
    pub mesh: Option<Mesh>,
    /// The sharding of the arguments, instead of a proposed one. Needs a mesh.
    pub shard: Option<ShardRules>,
    /// The precision of computations.
    pub precision: Precision,
}

impl PlanOptions {
    /// Proposes a plan for this many devices.
    pub fn new(devices: usize) -> Self {
        Self { devices, ..Self::default() }
    }

    /// Sets the memory of a device in bytes.
    #[must_use]
    pub fn memory(self, memory: u64) -> Self {
        Self { memory: Some(memory), ..self }
    }

    /// Sets the mesh.
    #[must_use]
    pub fn mesh(self, mesh: Mesh) -> Self {
        Self { mesh: Some(mesh), ..self }
    }

    /// Sets how arguments are sharded over the mesh.
    #[must_use]
    pub fn shard(self, shard: ShardRules) -> Self {
        Self { shard: Some(shard), ..self }
    }

    /// Sets the precision of computations.
    #[must_use]
    pub fn precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }
}

/// An argument of the module, as each device stores it.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct PlannedArgument {
    /// Its name.
    pub name: String,
    /// Its element type.
    #[serde(serialize_with = "serial::text")]
    pub element_type: ElementType,
    /// Its dims before sharding.
    pub dims: Vec<usize>,
    /// Whether the caller of the module provides the argument. All other arguments are weights.
    pub is_input: bool,
    /// For each dim, the mesh axes that shard it.
    pub axes: Vec<Vec<String>>,
    /// The size of a shard in bytes.
    pub bytes: u64,
}

/// A plan for running a model on several devices.
///
/// ```
/// use snick::PlanOptions;
///
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"8,4\"}\n  \
/// #             %a = ReLU-1(%x)\n  %y = Result-1(%a)\n}\n";
/// let mut model = snick::parse(text)?;
/// model.infer().into_result()?;
/// let plan = model.plan(&PlanOptions::new(2))?;
/// // Each device takes half of the batch, and sends nothing.
/// assert_eq!((plan.mesh.to_string().as_str(), plan.shard.to_string().as_str()), ("batch=2", "x[batch]"));
/// assert_eq!((plan.input_bytes(), plan.sent_bytes()), (64, 0));
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct ModelPlan {
    /// The devices.
    pub mesh: Mesh,
    /// The sharding of the arguments. The partitioner chooses the sharding of arguments without a rule.
    pub shard: ShardRules,
    /// The memory of a device in bytes, if given.
    pub memory: Option<u64>,
    /// The arguments, in order.
    pub arguments: Vec<PlannedArgument>,
    /// The bytes of results per device.
    pub result_bytes: u64,
    /// The peak bytes of computed values that are alive on a device at the same time, including results.
    pub peak_bytes: u64,
    /// The transfers between devices per call.
    pub transfers: Vec<Transfer>,
    /// Operations whose traffic is unknown.
    pub unplanned: Vec<Unplanned>,
}

/// Serialized in the format of `plan --format json`.
impl Serialize for ModelPlan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Answer<'p> {
            /// The number of devices.
            devices: usize,
            /// As for `--mesh`.
            #[serde(serialize_with = "serial::text")]
            mesh: &'p Mesh,
            /// As for `--shard`.
            #[serde(serialize_with = "serial::text")]
            shard: &'p ShardRules,
            /// See [`ModelPlan::weight_bytes`].
            weight_bytes: u64,
            /// See [`ModelPlan::input_bytes`].
            input_bytes: u64,
            /// See [`ModelPlan::result_bytes`].
            result_bytes: u64,
            /// See [`ModelPlan::peak_bytes`].
            peak_bytes: u64,
            /// See [`ModelPlan::device_bytes`].
            device_bytes: u64,
            /// See [`ModelPlan::sent_bytes`].
            sent_bytes: u64,
            /// See [`ModelPlan::memory`].
            #[serde(rename = "memory_bytes", skip_serializing_if = "Option::is_none")]
            memory: Option<u64>,
            /// See [`ModelPlan::fits`].
            #[serde(skip_serializing_if = "Option::is_none")]
            fits: Option<bool>,
            /// See [`ModelPlan::arguments`].
            arguments: &'p [PlannedArgument],
            /// See [`ModelPlan::transfers`].
            transfers: Vec<Sent<'p>>,
            /// See [`ModelPlan::unplanned`].
            unplanned: Vec<Unknown<'p>>,
        }
        #[derive(Serialize)]
        struct Sent<'p> {
            value: &'p str,
            operation: &'p str,
            collective: &'static str,
            devices: usize,
            bytes: u64,
        }
        #[derive(Serialize)]
        struct Unknown<'p> {
            value: &'p str,
            operation: &'p str,
            reason: &'p str,
        }
        let sent = self.transfers.iter().map(|sent| {
            let Transfer { value, operation, collective, devices, bytes, .. } = sent;
            Sent { value, operation, collective: collective.name(), devices: *devices, bytes: *bytes }
        });
        let unplanned = self.unplanned.iter().map(|unplanned| {
            let Unplanned { value, operation, reason, .. } = unplanned;
            Unknown { value, operation, reason }
        });
        Answer {
            devices: self.mesh.devices(),
            mesh: &self.mesh,
            shard: &self.shard,
            weight_bytes: self.weight_bytes(),
            input_bytes: self.input_bytes(),
            result_bytes: self.result_bytes,
            peak_bytes: self.peak_bytes,
            device_bytes: self.device_bytes(),
            sent_bytes: self.sent_bytes(),
            memory: self.memory,
            fits: self.fits(),
            arguments: &self.arguments,
            transfers: sent.collect(),
            unplanned: unplanned.collect(),
        }
        .serialize(serializer)
    }
}

impl ModelPlan {
    /// The bytes of weights per device.
    pub fn weight_bytes(&self) -> u64 {
        self.arguments.iter().filter(|argument| !argument.is_input).map(|argument| argument.bytes).sum()
    }

    /// The bytes of inputs per device.
    pub fn input_bytes(&self) -> u64 {
        self.arguments.iter().filter(|argument| argument.is_input).map(|argument| argument.bytes).sum()
    }

    /// The peak number of bytes in the memory of a device.
    pub fn device_bytes(&self) -> u64 {
        self.weight_bytes() + self.input_bytes() + self.peak_bytes
    }

    /// The bytes that each device sends per call; a lower bound if the traffic of some operations is unknown.
    pub fn sent_bytes(&self) -> u64 {
        self.transfers.iter().map(|transfer| transfer.bytes).sum()
    }

    /// Whether the plan fits in the memory of a device; `None` if the memory was not given.
    pub fn fits(&self) -> Option<bool> {
        self.memory.map(|memory| self.device_bytes() <= memory)
    }

    fn new(
        module: &Module,
        mesh: Mesh,
        shard: ShardRules,
        memory: Option<u64>,
        partition: Partition,
    ) -> Self {
        let Partition { arguments, argument_bytes, result_bytes, peak_bytes, transfers, unplanned, .. } =
            partition;
        let arguments = module.arguments.iter().zip(arguments).zip(argument_bytes);
        let arguments = arguments.map(|((argument, axes), bytes)| PlannedArgument {
            name: argument.port.name.clone(),
            element_type: argument.port.element_type,
            dims: argument.port.dims.iter().flatten().copied().collect(),
            is_input: matches!(argument.data, ArgumentData::Input),
            axes,
            bytes,
        });
        let arguments = arguments.collect();
        Self { mesh, shard, memory, arguments, result_bytes, peak_bytes, transfers, unplanned }
    }
}

impl Model {
    /// Plans how the model's StableHLO module runs on several devices. Call [`Model::infer`] first. Weights
    /// are arguments of the module, as in [`Model::save_stablehlo`].
    ///
    /// Without a mesh, tries all meshes of this many devices. Of those that fit in the memory, proposes the
    /// mesh that sends the fewest bytes; if several send equally many, the mesh that needs the least memory.
    /// If none fits, proposes the mesh that needs the least memory.
    ///
    /// # Errors
    /// [`Error::Invalid`] if StableHLO cannot express the model, [`Error::Shard`] if the mesh or the rules do
    /// not fit the arguments, [`Error::Partition`] for sizes that are only known at run time.
    pub fn plan(&self, options: &PlanOptions) -> Result<ModelPlan, Error> {
        let module = stablehlo::module(self.graph(), options.precision)?;
        let program = Program::of(&module)?;
        match (&options.mesh, &options.shard) {
            (Some(mesh), Some(shard)) => planned(&module, &program, mesh, shard, options.memory),
            _ => propose::plan(&module, &program, options),
        }
    }
}

/// The plan for a given mesh and given rules.
fn planned(
    module: &Module,
    program: &Program,
    mesh: &Mesh,
    shard: &ShardRules,
    memory: Option<u64>,
) -> Result<ModelPlan, Error> {
    let mut module = module.clone();
    module.shard(mesh.clone(), shard)?;
    let shardings: Vec<Vec<Option<String>>> =
        module.arguments.iter().map(|argument| argument.sharding.clone()).collect();
    let partition = program.partition(mesh, &shardings);
    Ok(ModelPlan::new(&module, mesh.clone(), shard.clone(), memory, partition))
}
