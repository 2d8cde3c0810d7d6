//! Where the buffers of a plan are on the device.

use cudainfer_kernels::device::{CudaStream, Memory};

use super::GpuError;
use super::choice::Chosen;
use super::constants::{Constants, Placed};
use crate::plan::{Arena, BufferId, Content, Order, Piece, Plan};

/// Where the buffers of a plan are.
pub(super) struct Places {
    /// By buffer.
    addresses: Vec<u64>,
    /// By step.
    workspaces: Vec<u64>,
    pub arena: Memory,
    pub constants: Placed,
}

impl Places {
    /// Of a plan whose inputs and outputs are at these addresses.
    pub fn new(
        plan: &Plan,
        order: &Order,
        chosen: &[Chosen],
        stream: &CudaStream,
        constants: &Constants,
        [inputs, outputs]: [&[u64]; 2],
    ) -> Result<Self, GpuError> {
        let users = plan.users();
        let mut pieces: Vec<Piece> = Vec::new();
        // By buffer: which piece it is, or which constant.
        let (mut piece_of, mut constant_of) = (vec![None; plan.buffers.len()], vec![0; plan.buffers.len()]);
        let mut contents: Vec<&[u8]> = Vec::new();
        for (index, buffer) in plan.buffers.iter().enumerate() {
            match &buffer.content {
                Content::Intermediate => {
                    piece_of[index] = Some(pieces.len());
                    pieces.push(Piece { bytes: buffer.bytes, steps: users[index].clone() });
                }
                Content::Constant(content) => {
                    constant_of[index] = contents.len();
                    contents.push(content);
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
        let constants = constants.place(&contents, stream)?;
        let mut addresses = Vec::new();
        for (index, buffer) in plan.buffers.iter().enumerate() {
            addresses.push(match &buffer.content {
                Content::Input(of) => inputs.get(*of).copied().unwrap_or(0),
                Content::Output(of) => outputs.get(*of).copied().unwrap_or(0),
                Content::Constant(_) => constants.addresses[constant_of[index]],
                Content::Intermediate => {
                    piece_of[index].map_or(0, |piece| arena.pointer() + laid.offsets[piece] as u64)
                }
            });
        }
        let at =
            |piece: &Option<usize>| piece.map_or(0, |piece| arena.pointer() + laid.offsets[piece] as u64);
        let workspaces = workspace_of.iter().map(at).collect();
        Ok(Self { addresses, workspaces, arena, constants })
    }

    pub fn of(&self, buffer: BufferId) -> u64 {
        self.addresses[buffer.0]
    }

    pub fn workspace(&self, step: usize) -> u64 {
        self.workspaces[step]
    }
}
