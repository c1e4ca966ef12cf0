//! What goes to the other side: the connection policy of a task stream ([`task`]), and what an editor sends to an agent
//! of the Agent Client Protocol ([`acp_prompt`](acp::acp_prompt)).

pub mod acp;
#[cfg(feature = "task-stream")]
pub mod task;
