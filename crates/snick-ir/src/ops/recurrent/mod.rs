//! Recurrent neural networks: single steps and whole sequences.

pub mod activation;
pub mod augru_cell;
pub mod augru_sequence;
pub mod cell;
pub mod direction;
pub mod gru_cell;
pub mod gru_sequence;
pub mod lstm_cell;
pub mod lstm_sequence;
pub mod rnn_cell;
pub mod rnn_sequence;
mod sequence;
mod shapes;
mod step;
mod unroll;
