//! trtinfer's queues with every order in which their threads can run (lib.rs says what each does).

use cudainfer_interleavings::every_order;

/// Tests of these functions, each with this many interruptions of threads that do not wait.
macro_rules! in_every_order {
    ($($interruptions:literal $name:ident)*) => {
        $(
            #[test]
            fn $name() {
                every_order($interruptions, cudainfer_interleavings::$name);
            }
        )*
    };
}

in_every_order! {
    1 frames_leave_in_order
    1 what_is_remembered_goes_from_frame_to_frame
    2 a_full_lane_lets_a_frame_in_when_one_has_left
    2 the_end_does_not_wait_for_a_batch_to_fill
    2 who_leaves_is_not_waited_for
    2 a_flush_drops_what_is_on_its_way_and_nothing_that_comes_after
    2 a_stop_lets_everybody_go
    1 a_change_of_the_model_loses_nothing
    2 frames_that_give_way_are_lost_once
    1 an_element_that_stops_takes_nobody_with_it
    3 everybody_gets_cores
    2 the_model_that_was_set_last_is_in_use
    2 a_load_from_before_a_stop_changes_nothing_after_it
    2 elements_that_share_an_instance_end_with_the_same
    2 elements_that_start_together_open_one_instance
}
