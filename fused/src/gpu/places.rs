//! Where the buffers of a plan are on the device.

use cudainfer_kernels::device::{CudaStream, Memory};

use super::GpuError;
use super::choice::Chosen;
use super::scratch::upload;
use crate::plan::{Arena, BufferId, Content, Order, Piece, Plan};

/// Where the buffers of a plan are.
pub(super) struct Places {
    /// By buffer.
    addresses: Vec<u64>,
    /// By step.
    workspaces: Vec<u64>,
    pub arena: Memory,
    pub constants: Memory,
}

impl Places {
    /// Of a plan whose inputs and outputs are at these addresses.
    pub fn new(
        plan: &Plan,
        order: &Order,
        chosen: &[Chosen],
        stream: &CudaStream,
        [inputs, outputs]: [&[u64]; 2],
    ) -> Result<Self, GpuError> {
        let users = plan.users();
        let mut pieces: Vec<Piece> = Vec::new();
        // By buffer: which piece it is, or where among the constants.
        let (mut piece_of, mut constant_at) = (vec![None; plan.buffers.len()], vec![0; plan.buffers.len()]);
        let mut constants = 0;
        for (index, buffer) in plan.buffers.iter().enumerate() {
            match &buffer.content {
                Content::Intermediate => {
                    piece_of[index] = Some(pieces.len());
                    pieces.push(Piece { bytes: buffer.bytes, steps: users[index].clone() });
                }
                Content::Constant(_) => {
                    constant_at[index] = constants;
                    constants += buffer.bytes.next_multiple_of(Arena::ALIGNMENT);
                }
                Content::Input(_) | Content::Output(_) => {}
            }
        }
        let workspace_of: Vec<Option<usize>> = chosen
            .iter()
            .enumerate()
            .map(|(step, chosen)| {
                let bytes = chosen.workspace();
                (bytes > 0).then(|| {
                    pieces.push(Piece { bytes, steps: vec![step] });
                    pieces.len() - 1
                })
            })
            .collect();
        let laid = Arena::of(&pieces, order);
        let arena = stream.allocate(laid.bytes)?;
        let memory = stream.allocate(constants)?;
        let mut bytes = vec![0_u8; constants];
        let mut addresses = Vec::new();
        for (index, buffer) in plan.buffers.iter().enumerate() {
            addresses.push(match &buffer.content {
                Content::Input(of) => inputs.get(*of).copied().unwrap_or(0),
                Content::Output(of) => outputs.get(*of).copied().unwrap_or(0),
                Content::Constant(content) => {
                    bytes[constant_at[index]..constant_at[index] + content.len()].copy_from_slice(content);
                    memory.pointer() + constant_at[index] as u64
                }
                Content::Intermediate => {
                    piece_of[index].map_or(0, |piece| arena.pointer() + laid.offsets[piece] as u64)
                }
            });
        }
        if constants > 0 {
            upload(stream, &bytes, memory.slice())?;
        }
        let at =
            |piece: &Option<usize>| piece.map_or(0, |piece| arena.pointer() + laid.offsets[piece] as u64);
        let workspaces = workspace_of.iter().map(at).collect();
        Ok(Self { addresses, workspaces, arena, constants: memory })
    }

    pub fn of(&self, buffer: BufferId) -> u64 {
        self.addresses[buffer.0]
    }

    pub fn workspace(&self, step: usize) -> u64 {
        self.workspaces[step]
    }
}
