//! Dense convolutions, and products of matrices, as products of matrices (cuda/matrix.cuh).

use cudainfer_kernels::tensor::TensorType;

use super::epilogue::{Sums, together};
use super::shape::Instance;
use crate::emit::Device;
use crate::emit::batches::Batches;
use crate::emit::kernel::Kernel;
use crate::emit::launch::MULTIPROCESSORS;
use crate::graph::Window;
use crate::graph::number::is_byte;
use crate::plan::{Convolution, Product, View};

/// How many kernels are offered that multiply on tensor cores: the first three that are guessed to be fast are 1 % from the best of six.
const MOST_KERNELS: usize = 3;

/// How many are offered beside two of warp groups: a second one would gain half a percent, and cost a quarter of the time to compile them.
const MOST_BESIDE_GROUPS: usize = 1;

/// The cycles that warp groups take at least where they are offered: of what is shorter, they gain nothing, and their shared memory leaves no room
/// for what could run beside it.
const LEAST_OF_GROUPS: usize = 2000;

/// The most bytes of a pixel that is read by way of the multiprocessor's cache: 32 make convolutions of 3x3 up to 1.6 times as fast, 64 some slower.
const CACHED: usize = 32;

/// Steps from which on a sum is long.
const LONG: usize = 17;

/// How many are offered that do not.
const MOST_PLAIN: usize = 2;

/// How a block makes its tile: the constants of cuda/sums.cuh and cuda/matrix.cuh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tile {
    /// Pixels.
    rows: usize,
    /// Channels.
    columns: usize,
    /// Sixteen bytes of each pixel that are loaded at once.
    chunks: usize,
    /// Steps in flight.
    stages: usize,
    /// Warps: along pixels, along channels, along the step.
    warps: [usize; 3],
}

impl Tile {
    /// The shared memory that it takes, with stages first and all sums, which have eight columns of padding, at the end.
    fn bytes(&self) -> usize {
        let Self { rows, columns, chunks, stages, .. } = self;
        (stages * (rows + columns) * chunks * 16).max(rows * (columns + 8) * 4)
    }
}

/// On what a tile is multiplied: the constants of cuda/sums.cuh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    /// Number by number.
    Plain = 0,
    /// Tensor cores, from the registers of each warp.
    Cores = 1,
    /// Tensor cores, from shared memory, for four warps at once.
    WarpGroups = 2,
}

const fn tile(rows: usize, columns: usize, chunks: usize, stages: usize, warps: [usize; 3]) -> Tile {
    Tile { rows, columns, chunks, stages, warps }
}

/// All take 48 KiB of shared memory at most. Small ones are for small images, deep ones for few pixels of many channels.
const TILES: [Tile; 10] = [
    tile(128, 64, 4, 4, [4, 2, 1]),
    tile(128, 32, 4, 4, [4, 1, 1]),
    tile(128, 16, 4, 4, [4, 1, 1]),
    tile(64, 64, 4, 4, [2, 2, 1]),
    tile(64, 64, 8, 3, [2, 2, 2]),
    tile(64, 32, 8, 4, [2, 1, 2]),
    tile(64, 16, 8, 4, [2, 1, 2]),
    tile(32, 64, 8, 4, [1, 2, 2]),
    tile(32, 32, 8, 4, [1, 1, 4]),
    tile(32, 32, 16, 3, [2, 1, 4]),
];

/// Those of float16 and integers alone, whose sums need half the registers. Each warp makes 64 x 32 or 64 x 64, so that it multiplies longer than it loads
/// from shared memory.
const LARGE_TILES: [Tile; 3] =
    [tile(128, 128, 4, 3, [2, 4, 1]), tile(128, 128, 4, 3, [2, 2, 1]), tile(128, 64, 4, 4, [2, 2, 1])];

/// Those of a width that divides a product into parts of no power of two, of which nothing is computed for nobody, as for 80 channels; for float16
/// and integers alone.
fn fitting_tiles(outputs: usize) -> Vec<Tile> {
    let padded = outputs.next_multiple_of(16);
    let width = [112, 96, 80, 48].into_iter().find(|width| padded.is_multiple_of(*width));
    let widths = width.filter(|_| !padded.is_multiple_of(64)).into_iter();
    widths.flat_map(|width| [tile(128, width, 4, 3, [4, 1, 1]), tile(64, width, 4, 4, [2, 1, 2])]).collect()
}

/// Those of warp groups, each of which makes 64 or 128 pixels of all channels.
const GROUP_TILES: [Tile; 8] = [
    tile(128, 256, 8, 4, [8, 1, 1]),
    tile(256, 128, 8, 4, [8, 1, 1]),
    tile(128, 128, 8, 3, [8, 1, 1]),
    tile(256, 64, 8, 4, [8, 1, 1]),
    tile(128, 64, 8, 4, [8, 1, 1]),
    tile(128, 32, 8, 4, [8, 1, 1]),
    tile(64, 128, 8, 4, [4, 1, 1]),
    tile(64, 64, 8, 4, [4, 1, 1]),
];

/// Those of warp groups whose width is the product's, a half or a third of it, where that is no power of two.
fn fitting_group_tiles(outputs: usize) -> Vec<Tile> {
    let padded = outputs.next_multiple_of(16);
    let width = (1..4).map(|parts| padded.div_ceil(parts).next_multiple_of(16)).find(|width| *width <= 256);
    let widths = width.filter(|width| !width.is_power_of_two()).into_iter();
    let stages = |width: usize| if width > 128 { 4 } else { 3 };
    let tiles = |width| [tile(128, width, 8, stages(width), [8, 1, 1]), tile(64, width, 8, 4, [4, 1, 1])];
    widths.flat_map(tiles).collect()
}

/// Those without tensor cores: a thread makes 8 x 8 sums at most.
const PLAIN_TILES: [Tile; 4] = [
    tile(128, 64, 4, 4, [4, 1, 1]),
    tile(64, 64, 8, 3, [2, 1, 2]),
    tile(64, 16, 8, 4, [2, 1, 2]),
    tile(32, 32, 8, 4, [1, 1, 4]),
];

/// Kernels with several tiles, if sixteen bytes of channels lie together.
///
/// float32 is multiplied on tensor cores with nearly all of its bits, and without them: for GPUs that have none for it, and where the user
/// tolerates less than they leave.
pub(super) fn kernels(convolution: &Convolution, device: Device) -> Vec<Kernel> {
    if convolution.groups == 1 { of(convolution, None, device) } else { Vec::new() }
}

/// The same for products of matrices of float16, both of which must have their depth innermost: the left one's rows are pixels, and the right one is
/// the weights.
pub(super) fn products(product: &Product) -> Vec<Kernel> {
    let batches = Batches::new(product);
    let Product { left, right, output } = product;
    let axis = output.dims.len() - 2;
    // Where a batch begins in the output is what the epilogue takes for the image.
    let image = |view: &View, channels: usize, pixels: usize| {
        let strides = vec![1, view.strides[channels], 0, view.strides[pixels]];
        View { dims: vec![1, view.dims[channels], 1, view.dims[pixels]], strides, ..view.clone() }
    };
    let weights = View {
        dims: vec![right.dims[axis + 1], right.dims[axis], 1, 1],
        strides: vec![right.strides[axis + 1], right.strides[axis], 0, 0],
        ..right.clone()
    };
    let are_rows = left.ty == TensorType::Float16
        && [left, right].into_iter().all(|view| batches.is_aligned(view, 8))
        && weights.strides[1] == 1
        && weights.strides[0].unsigned_abs().is_multiple_of(8);
    if !are_rows {
        return Vec::new();
    }
    let convolution = Convolution {
        input: image(left, axis + 1, axis),
        weights,
        bias: None,
        window: Window { kernel: [1; 2], strides: [1; 2], dilations: [1; 2], begin: [0; 2], end: [0; 2] },
        groups: 1,
        zero: 0,
        epilogue: Vec::new(),
        output: image(output, axis + 1, axis),
    };
    of(&convolution, Some(&batches), Device::default())
}

fn of(convolution: &Convolution, batches: Option<&Batches>, device: Device) -> Vec<Kernel> {
    let Convolution { input, weights, output, .. } = convolution;
    let (Ok([images, outputs, rows, columns]), Ok([_, depth, taps_y, taps_x])) =
        (<[usize; 4]>::try_from(&output.dims[..]), <[usize; 4]>::try_from(&weights.dims[..]))
    else {
        return Vec::new();
    };
    let is_known = match input.ty {
        TensorType::Float16 | TensorType::Float32 => weights.ty == input.ty,
        ty => is_byte(ty) && weights.ty == TensorType::Int8,
    };
    let chunk = 16 / input.ty.size();
    let fits = depth.is_multiple_of(chunk)
        && together(input, chunk) == chunk
        && weights.offset.is_multiple_of(chunk);
    if !is_known || !fits {
        return Vec::new();
    }
    let extent = Extent {
        count: batches.map_or(1, Batches::count),
        pixels: images * rows * columns,
        outputs,
        chunks: depth * taps_y * taps_x / chunk,
        work: if input.ty == TensorType::Float32 { 2 } else { 1 },
    };
    let kernels = |tiles: Vec<&Tile>, on: On| -> Vec<Kernel> {
        tiles.into_iter().filter_map(|tile| kernel(convolution, batches, tile, &extent, on)).collect()
    };
    if input.ty == TensorType::Float32 {
        let mut all = kernels(extent.best(TILES.iter(), On::Cores, MOST_KERNELS), On::Cores);
        all.extend(kernels(extent.best(PLAIN_TILES.iter(), On::Plain, MOST_PLAIN), On::Plain));
        return all;
    }
    let fitting = fitting_group_tiles(outputs);
    let groups =
        if device.warp_groups { extent.best_groups(GROUP_TILES.iter().chain(&fitting)) } else { Vec::new() };
    let most = if groups.is_empty() { MOST_KERNELS } else { MOST_BESIDE_GROUPS };
    let fitting = fitting_tiles(outputs);
    let tiles = TILES.iter().chain(&LARGE_TILES).chain(&fitting);
    let mut all = kernels(extent.best(tiles, On::Cores, most), On::Cores);
    all.extend(kernels(groups, On::WarpGroups));
    all
}

fn kernel(
    convolution: &Convolution,
    batches: Option<&Batches>,
    tile: &Tile,
    extent: &Extent,
    on: On,
) -> Option<Kernel> {
    let Tile { rows, columns, chunks, stages, warps: [down, across, deep] } = *tile;
    let is_aligned = |count: usize| batches.is_none_or(|batches| batches.is_aligned_output(count));
    let fits = |count: &usize| extent.outputs.is_multiple_of(*count) && is_aligned(*count);
    let finished = [8, 4, 2].into_iter().find(fits).unwrap_or(1);
    // After long sums the loads of the epilogue are little, and more registers for these are better.
    let places = match (extent.chunks.div_ceil(chunks), is_byte(convolution.input.ty)) {
        (LONG.., _) => 1,
        (_, true) => 2,
        (_, false) => 4,
    };
    // Several taps read each pixel: from the multiprocessor's cache, where it holds the rows that a block reads.
    let (taps, pixel) =
        (&convolution.weights.dims[2..], convolution.weights.dims[1] * convolution.input.ty.size());
    let cached = taps.iter().product::<usize>() > 1 && pixel <= CACHED;
    let shared = if on == On::WarpGroups { tile.bytes() } else { 0 };
    let constants = [
        ("ROWS", rows),
        ("COLUMNS", columns),
        ("CHUNKS", chunks),
        ("STAGES", stages),
        ("WARPS_DOWN", down),
        ("WARPS_ACROSS", across),
        ("WARPS_DEEP", deep),
        ("FINISHED", finished),
        ("PLACES", places),
        ("CACHED", usize::from(cached)),
        ("PIXELS_FIRST", usize::from(convolution.output.strides[1] != 1)),
        ("ON", on as usize),
        ("SHARED", shared),
        ("BATCHED", usize::from(extent.count > 1)),
        ("KNOWN", usize::from(batches.is_none())),
    ];
    let instance = Instance {
        what: match (batches, on) {
            (Some(_), _) => "product_matrix",
            (None, On::Cores) => "convolution_matrix",
            (None, On::Plain) => "convolution_plain",
            (None, On::WarpGroups) => "convolution_groups",
        },
        template: "convolve_matrix",
        constants: &constants,
        finished,
        read: 16 / convolution.input.ty.size(),
        sums: if is_byte(convolution.input.ty) { Sums::Integers } else { Sums::Floats },
        blocks: extent.blocks(tile),
        threads: 32 * down * across * deep,
        shared,
        count: extent.pixels,
        batches,
    };
    instance.kernel(convolution)
}

/// The size of the products that a kernel makes.
struct Extent {
    /// Products.
    count: usize,
    pixels: usize,
    outputs: usize,
    /// Sixteen bytes each, of a pixel.
    chunks: usize,
    /// How long 64 products of chunks take a multiprocessor, in cycles.
    work: usize,
}

impl Extent {
    /// The tiles that probably take the least time, but for those twice as wide as the product.
    fn best<'a>(&self, tiles: impl Iterator<Item = &'a Tile>, on: On, most: usize) -> Vec<&'a Tile> {
        let mut tiles: Vec<&Tile> =
            tiles.filter(|tile| tile.columns < 2 * self.outputs.next_multiple_of(16)).collect();
        tiles.sort_by_key(|tile| self.cost(tile, on));
        // Tests try all of them.
        tiles.truncate(if cfg!(test) { usize::MAX } else { most });
        tiles
    }

    /// The tile of warp groups that probably takes the least time, and the next one of which a multiprocessor has room for two: one block's
    /// products run while the other writes its sums. They are 1 % from the best of ten. None where even the first takes little.
    fn best_groups<'a>(&self, tiles: impl Iterator<Item = &'a Tile>) -> Vec<&'a Tile> {
        let tiles = self.best(tiles, On::WarpGroups, usize::MAX);
        match tiles.split_first() {
            // Tests try all of them.
            Some((first, rest)) if !cfg!(test) => {
                if self.cost(first, On::WarpGroups) < LEAST_OF_GROUPS {
                    return Vec::new();
                }
                let is_small = |tile: &&&Tile| tile.bytes() + BYTES_OF_SYSTEM <= MULTIPROCESSOR_BYTES / 2;
                [Some(first), rest.iter().find(is_small)].into_iter().flatten().copied().collect()
            }
            _ => tiles,
        }
    }

    fn blocks(&self, tile: &Tile) -> usize {
        self.count * self.pixels.div_ceil(tile.rows) * self.outputs.div_ceil(tile.columns)
    }

    /// A guess of the cycles that it takes. Of cores, a step takes some 200 cycles, in which its loads are issued and its barrier is met,
    /// besides its products, a block some 1500 at its beginning and end, and each multiprocessor runs two at a time. Warp groups multiply twice
    /// as fast, while the next step is loaded, and begin and end in some 500; two blocks are no faster together than one after another.
    fn cost(&self, tile: &Tile, on: On) -> usize {
        let Tile { rows, columns, chunks, .. } = tile;
        let (products, steps) = (rows * columns * chunks, self.chunks.div_ceil(*chunks));
        let (at_once, block) = match on {
            On::WarpGroups => (1, 500 + steps * (products / 256).max(100)),
            _ => (2, 1500 + steps * (200 + (products * self.work / 64).max(200))),
        };
        self.blocks(tile).div_ceil(at_once * MULTIPROCESSORS) * block
    }
}

/// Shared memory of a multiprocessor of compute capability 9.0, of which each block has 1 KiB for the system.
const MULTIPROCESSOR_BYTES: usize = 228 * 1024;
const BYTES_OF_SYSTEM: usize = 1024;
