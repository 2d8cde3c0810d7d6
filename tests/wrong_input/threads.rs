//! A system that gives no more threads: an element that cannot go on posts an error, and stops. The threads are refused in child
//! processes of the test.

use std::process::Stdio;
use std::time::{Duration, Instant};

use cudainfer_tests::{LIMIT, TestPipeline, model};
use gst::prelude::*;

const CHILD: &str = "CUDAINFER_TEST_THREADS";

/// From here on, this process gets no more threads: the system refuses the call as it does at its limit.
fn refuse_threads() {
    let load_call = statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0);
    // The filter sees the call's number first. The C library takes `clone` if `clone3` is refused as unknown.
    let if_call_is = |call: libc::c_long, skip: u8| {
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, skip, u32::try_from(call).unwrap())
    };
    let answer = |action: u32| statement(libc::BPF_RET | libc::BPF_K, 0, 0, action);
    let refuse = |errno: i32| answer(libc::SECCOMP_RET_ERRNO | u32::try_from(errno).unwrap());
    let mut program = [
        load_call,
        if_call_is(libc::SYS_clone3, 1),
        refuse(libc::ENOSYS),
        if_call_is(libc::SYS_clone, 1),
        refuse(libc::EAGAIN),
        answer(libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: program.len().try_into().unwrap(), filter: program.as_mut_ptr() };
    // SAFETY: the calls take these arguments, and the filter outlives them.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let set = libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_TSYNC,
            &raw const filter,
        );
        assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
    }
    assert!(std::thread::Builder::new().spawn(|| ()).is_err());
}

/// An instruction of a filter: skips this many instructions if its comparison holds, and that many if not.
fn statement(code: u32, if_true: u8, if_false: u8, operand: u32) -> libc::sock_filter {
    libc::sock_filter { code: code.try_into().unwrap(), jt: if_true, jf: if_false, k: operand }
}

fn print(pipeline: &TestPipeline) {
    let bus = pipeline.bus().unwrap();
    while let Some(message) = bus.pop() {
        match message.view() {
            gst::MessageView::Error(error) => println!("ERROR {}", error.error()),
            gst::MessageView::Warning(warning) => println!("WARNING {}", warning.error()),
            _ => (),
        }
    }
}

/// The child process. In the test run itself, this does nothing.
#[test]
fn child() {
    let Ok(when) = std::env::var(CHILD) else { return };
    // Without a source element, because GStreamer's sources need threads of their own.
    let pipeline = TestPipeline::new(&format!(
        "fusedpreproc ! trtinfer name=infer model={} ! fakesink async=false",
        model("detector")
    ));
    if when == "starting" {
        pipeline.reach(gst::State::Ready);
        refuse_threads();
        assert!(pipeline.set_state(gst::State::Paused).is_err());
    } else {
        pipeline.reach(gst::State::Playing);
        refuse_threads();
        pipeline.element("infer").set_property("model", model("detector-retrained"));
        assert_eq!(pipeline.element("infer").property::<String>("model"), model("detector"));
    }
    print(&pipeline);
    pipeline.set_state(gst::State::Null).unwrap();
    println!("STOPPED");
    std::process::exit(0);
}

fn said(when: &str) -> String {
    let mut child = cudainfer_tests::test_in_own_process(module_path!(), "child");
    child.env(CHILD, when);
    let mut child = child.stdout(Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + 2 * LIMIT;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("the child hangs");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "the child died: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn without_a_thread_to_push_with_the_start_fails_with_a_sentence_and_the_pipeline_stops() {
    let said = said("starting");
    assert!(said.contains("ERROR infer: the system gives no thread to push frames with"), "{said}");
    assert!(said.contains("STOPPED"), "{said}");
}

#[test]
fn without_a_thread_to_load_it_in_a_model_is_not_taken_over_with_a_sentence() {
    let said = said("changing");
    for part in ["WARNING infer: the model", "the system gives no thread to load it in", "STOPPED"] {
        assert!(said.contains(part), "no '{part}': {said}");
    }
}
