//! Fused ops that OpenVINO's plug-ins create.

pub mod dynamic_quantize;
pub mod fully_connected;
pub mod gated_delta_net;
pub mod gather_compressed;
pub mod gather_matmul;
pub mod glu;
pub mod group_query_attention;
pub mod grouped_matmul_compressed;
pub mod moe;
pub mod msda;
pub mod pa_kv_reorder;
pub mod paged_attention;
pub mod paged_causal_conv1d;
pub mod rms;
pub mod rms_norm;
pub mod rope;
mod rotation;
pub mod selective_ssm;
#[cfg(test)]
mod tests;
pub mod vl_sdpa;
