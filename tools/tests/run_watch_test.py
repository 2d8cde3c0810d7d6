"""The lines that --watch shows, from pages such as the tracer's."""

import io
import unittest

from cudainfer_tools.run import watch

PAGE = """# HELP cudainfer_frames_total Buffers
# TYPE cudainfer_frames_total counter
cudainfer_frames_total{pipeline="p",element="sink",stream="camera"} 30
cudainfer_latency_seconds_bucket{pipeline="p",element="sink",stream="camera",le="0.1"} 30
cudainfer_latency_seconds_sum{pipeline="p",element="sink",stream="camera"} 0.6
cudainfer_latency_seconds_count{pipeline="p",element="sink",stream="camera"} 30
cudainfer_latency_seconds_sum{pipeline="p",element="slow",stream="camera"} 9
cudainfer_latency_seconds_count{pipeline="p",element="slow",stream="camera"} 3
cudainfer_frames_dropped_total{pipeline="p",element="infer",stream="camera",reason="leaky"} 4
cudainfer_frames_dropped_total{pipeline="p",element="sink",stream="camera",reason="late"} 1
cudainfer_objects_total{pipeline="p",element="nms",stream="camera",class="a \\"b\\""} 40
cudainfer_objects_total{pipeline="p",element="nms",stream="camera",class="c"} 20
cudainfer_objects_total{pipeline="p",element="second",stream="camera",class="c"} 5
cudainfer_frames_total{pipeline="p",element="demux",stream="file"} 900
process_cpu_seconds_total 1.5
"""


class Pages(unittest.TestCase):
    def test_a_page_is_read_by_stream_and_one_that_reaches_no_sink_is_left_out(self):
        streams = watch.read(PAGE)
        self.assertEqual(list(streams), [("p", "camera")])
        counts = streams["p", "camera"]
        self.assertEqual(counts.frames, {"sink": 30, "slow": 3})
        self.assertEqual((counts.dropped, dict(counts.objects)), (5, {"nms": 60, "second": 5}))

    def test_a_stream_whose_frames_a_muxer_takes_is_told_by_the_elements_before_it(self):
        labels = 'pipeline="p",element="{}",stream="{}"'
        tracker, mux = labels.format("tracker", "film"), labels.format("mux", "muxed")
        page = f"cudainfer_frames_total{{{tracker}}} 400\ncudainfer_frames_total{{{mux}}} 390\n"
        late = f"cudainfer_latency_seconds_count{{{labels.format('file', 'film')}}} 2\n"
        for text in (page, page + late):
            streams = watch.read(text)
            self.assertEqual(streams["p", "film"].frames, {"tracker": 400})
            self.assertEqual(streams["p", "muxed"].frames, {"mux": 390})
        # A sink that gets few frames because most were dropped is where the stream ends all the same.
        dropped = f'cudainfer_frames_dropped_total{{{tracker},reason="leaky"}} 390\n'
        self.assertEqual(watch.read(page + late + dropped)["p", "film"].frames, {"file": 2})

    def test_a_line_tells_of_the_time_since_the_last(self):
        now = watch.read(PAGE)["p", "camera"]
        self.assertEqual(
            watch.line("camera", watch.Counts(), now, 2.0).split(),
            ["camera", "15.0", "frames/s", "20.0", "ms", "5", "dropped", "2.0", "objects"],
        )
        self.assertEqual(watch.line("camera", now, now, 1.0).split(), ["camera", "0.0", "frames/s", "-", "ms", "5", "dropped"])


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Screens(unittest.TestCase):
    def test_lines_follow_each_other_where_there_is_no_terminal(self):
        out = io.StringIO()
        screen = watch.Screen(out)
        screen.show(["a", "b"])
        screen.hand_on("own\n", out)
        screen.show(["c"])
        self.assertEqual(out.getvalue(), "a\nb\nown\nc\n")

    def test_lines_are_replaced_on_a_terminal_and_others_stay_above(self):
        out = Terminal()
        screen = watch.Screen(out)
        screen.show(["a", "b"])
        screen.hand_on("own\n", out)
        screen.show(["c"])
        self.assertEqual(out.getvalue(), "a\nb\n\x1b[2A\x1b[Jown\na\nb\n\x1b[2A\x1b[Jc\n")

    def test_a_tracer_that_is_there_already_is_told(self):
        with self.assertRaisesRegex(watch.PipelineError, "leave cudainfertracer out"):
            watch.with_tracer({"GST_TRACERS": "cudainfertracer(json=a)"})
        mine = watch.with_tracer({"GST_TRACERS": "latency", "GST_DEBUG": "2", "GST_DEBUG_FILE": "x"})
        self.assertEqual(mine["GST_TRACERS"], "latency;cudainfertracer(metrics=127.0.0.1:0)")
        self.assertEqual((mine["GST_DEBUG"], "GST_DEBUG_FILE" in mine), ("2,cudainfer-tracer:4", False))


if __name__ == "__main__":
    unittest.main()
