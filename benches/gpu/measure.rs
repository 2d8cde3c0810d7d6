//! How a row is measured, the same way for every operation (and by tools/cudainfer_tools/bench/gpu/peers for what users would call instead).

use cudainfer_kernels::device::{CudaStream, Event};

/// Calls between two time stamps: short work is timed in runs, so that the time stamps cost nothing.
const CALLS: usize = 20;
/// Timed runs; the figures are medians and percentiles over these.
const RUNS: usize = 200;

/// Microseconds a call on the device.
pub struct Times {
    pub median: f64,
    pub p95: f64,
}

/// Times `work(i)`, which enqueues one call on input number `i`, taken modulo the inputs. These must be more than the cache
/// holds; otherwise the row's name must mention it.
pub fn measure(stream: &CudaStream, mut work: impl FnMut(usize)) -> Times {
    let [start, end] = [(); 2].map(|()| Event::with_time(stream.context()).unwrap());
    let mut call = 0;
    let mut run = |n: usize| {
        for _ in 0..n {
            work(call);
            call += 1;
        }
    };
    run(5 * CALLS);
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            stream.record(&start).unwrap();
            run(CALLS);
            stream.record(&end).unwrap();
            stream.wait_on_host(&end).unwrap();
            end.nanoseconds_since(&start).unwrap() as f64 / 1e3 / CALLS as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    Times { median: times[RUNS / 2], p95: times[RUNS * 95 / 100] }
}

/// Prints a row. `bytes` must move through device memory at least once; `launches` is the number of a call's launches, or of its
/// share of a batch; `goal_us` is what the project aims for.
pub fn row(name: &str, times: &Times, bytes: usize, launches: f64, goal_us: Option<f64>) {
    row_of("cudainfer", name, times, bytes, launches, goal_us);
}

/// Prints a row of other software for the same work.
pub fn row_of(who: &str, name: &str, times: &Times, bytes: usize, launches: f64, goal_us: Option<f64>) {
    let Times { median, p95 } = times;
    let goal = goal_us.map_or_else(|| "null".into(), |goal| goal.to_string());
    println!(
        "{{\"row\": \"{name}\", \"who\": \"{who}\", \"median_us\": {median:.3}, \"p95_us\": {p95:.3}, \
         \"bytes\": {bytes}, \"launches\": {launches}, \"goal_us\": {goal}}}"
    );
}
