"""Tests of profile on traces made by hand: what is a call's own, what bounds a pipeline, and the page."""

from __future__ import annotations

import html.parser
import json
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

from cudainfer_tools.profile import bound, compare, launch, measures, networks, page, plots, summary, trace

MS = 1e3


def call(element: str, thread: int, start: float, took: float, cpu: float | None = None, pts: int | None = None) -> dict:
    """A call's event; times in ms."""
    return {
        "name": element,
        "ph": "X",
        "ts": start * MS,
        "dur": took * MS,
        "tdur": (took if cpu is None else cpu) * MS,
        "pid": 9,
        "tid": thread,
        "args": {"frame": 0, "buffers": 1, "pts": pts},
    }


def run(element: str, thread: int, start: float, took: float, frames: int) -> dict:
    return {
        "name": element,
        "cat": "run",
        "ph": "X",
        "ts": start * MS,
        "dur": took * MS,
        "pid": 9,
        "tid": thread,
        "args": {"frames": frames},
    }


def on_gpu(element: str, start: float, took: float) -> dict:
    return {"name": element, "cat": "gpu", "ph": "X", "ts": start * MS, "dur": took * MS, "pid": 0, "tid": 3, "args": {}}


def row(name: str, factory: str, frames: int, feeds: list[str], **more) -> dict:
    stats = {key.replace("_", "-"): value for key, value in more.pop("stats", {}).items()}
    return {"name": name, "factory": factory, "frames": frames, "ms_per_frame": 0.0, "feeds": feeds, "stats": stats} | more


def network(
    count: int,
    period: float,
    took: float,
    batch: int = 1,
    limit: int = 1,
    waits: int = 0,
    gpu_ms: float | None = None,
    copied: int = 0,
) -> tuple[dict, list[dict]]:
    """A source, a network and a sink: runs of `took` ms every `period` ms, with `batch` of at most `limit` frames."""
    events = []
    for n in range(count):
        at = n * period
        events += [
            call("src", 1, at, 0.5, 0.2, n),
            run("infer", 2, at + 0.5, took, batch),
            call("sink", 3, at + took + 1, 0.1, 0.1, n),
        ]
        # The network's element is called by the source, and waits there.
        events.append(call("infer", 1, at + 0.1, 0.3, 0.1, n))
        if gpu_ms is not None:
            events.append(on_gpu("infer", at + 0.5, gpu_ms))
    stats = {
        "frames": count,
        "busy_ns": int(count * took * 1e6),
        "batches": count,
        "batched_frames": count * batch,
        "batch_limit": limit,
        "host_waits": waits,
        "device_to_host_bytes": copied * count,
    }
    infer = row("infer", "trtinfer", count, ["sink"], stats=stats)
    rows = [row("src", "videoconvert", count, ["infer"]), infer, row("sink", "fakesink", count, [])]
    return {"end": "eos", "frames": count, "seconds": count * period / 1e3, "elements": rows}, events


def facts(report: dict, events: list[dict], cpu_seconds: float | None = None, cores: int = 4) -> bound.Facts:
    return bound.Facts.of(trace.read(report, events), cpu_seconds, cores)


class Networks(unittest.TestCase):
    def test_a_form_whose_file_is_not_there_is_left_out_and_an_open_batch_serves_eight_streams(self):
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder, "net.onnx")
            model.touch()
            self.assertEqual(networks.forms(model), {"single": (model, 1), "batch8": (model, 8)})
            several, quantised = Path(folder, "net-batch8.onnx"), Path(folder, "net-int8.onnx")
            several.touch()
            quantised.touch()
            wanted = {"single": (model, 1), "batch8": (several, 8), "int8": (quantised, 1)}
            self.assertEqual(networks.forms(model), wanted)

    def test_streams_share_an_instance_that_takes_a_frame_of_each(self):
        words = networks.line("decode", Path("net.onnx"), 8, "gpunms")
        self.assertEqual(words.count("multifilesrc"), 8)
        self.assertEqual((words.count("instance=shared"), words.count("batch-size=8")), (8, 8))
        self.assertNotIn("instance=shared", networks.line("decode", Path("net.onnx"), 1, "gpunms"))


class Launching(unittest.TestCase):
    def test_the_seconds_begin_when_frames_flow(self):
        with tempfile.TemporaryDirectory() as folder:
            log, ended = Path(folder, "log.txt"), threading.Event()
            log.write_text("Setting pipeline to PAUSED ...\n")
            # What a shell starts in the background ignores SIGINT, and so would its sleep.
            with subprocess.Popen(["env", "--default-signal=INT", "sleep", "60"]) as process:
                ender = threading.Thread(target=launch.end_after, args=(process, 0.0, log, ended))
                ender.start()
                with self.assertRaises(subprocess.TimeoutExpired):
                    process.wait(0.5)
                log.write_text("Setting pipeline to PAUSED ...\nSetting pipeline to PLAYING ...\n")
                self.assertEqual(process.wait(30), -signal.SIGINT)
                ended.set()
                ender.join()


class Reading(unittest.TestCase):
    def test_a_calls_own_time_is_without_those_nested_in_it(self):
        events = [
            call("a", 1, 0, 10, 6),
            call("b", 1, 2, 5, 4),
            call("c", 1, 3, 1, 1),
            call("b", 1, 8, 1, 1),
            call("z", 2, 1, 20, 20),
        ]
        found = trace.read({"end": "eos", "frames": 1, "seconds": 1.0, "elements": []}, events)
        own = {
            (one.element, one.start): (round(1e3 * one.own, 6), round(1e3 * one.own_cpu, 6), one.outermost) for one in found.calls
        }
        self.assertEqual(
            own,
            {
                ("a", 0.0): (4, 1, True),
                ("b", 0.002): (4, 3, False),
                ("c", 0.003): (1, 1, False),
                ("b", 0.008): (1, 1, False),
                ("z", 0.001): (20, 20, True),
            },
        )

    def test_streams_are_what_links_connect(self):
        rows = [row("a", "x", 1, ["b"]), row("b", "x", 1, []), row("c", "x", 1, ["d"]), row("d", "x", 1, [])]
        found = trace.read({"end": "eos", "frames": 1, "seconds": 1.0, "elements": rows}, [])
        self.assertEqual(found.streams(), [{"a", "b"}, {"c", "d"}])

    def test_frames_of_two_streams_with_the_same_times_are_told_apart(self):
        rows = [row("a", "x", 2, ["b"]), row("b", "x", 2, []), row("c", "x", 1, [])]
        events = [
            call("a", 1, 0, 1, pts=0),
            call("b", 2, 5, 1, pts=0),
            call("a", 1, 1, 1, pts=7),
            call("b", 2, 3, 1, pts=7),
            call("c", 3, 0, 9, pts=0),
        ]
        found = measures.frames(trace.read({"end": "eos", "frames": 2, "seconds": 1.0, "elements": rows}, events))
        self.assertEqual(
            [(one.stream, one.pts, round(1e3 * (one.left - one.entered))) for one in found], [(0, 0, 6), (1, 0, 9), (0, 7, 3)]
        )
        times, numbers = measures.in_flight(found)
        self.assertEqual((max(numbers), numbers[-1], len(times)), (3, 0, 6))

    def test_the_rate_begins_with_the_first_frame_at_the_sink(self):
        # Ten seconds of loading, then a frame each 10 ms.
        events = [call("a", 1, 0, 10_000, 1, 0)] + [call("z", 2, 10_000 + 10 * n, 1, 1, n) for n in range(11)]
        rows = [row("a", "x", 11, ["z"]), row("z", "fakesink", 11, [])]
        found = trace.read({"end": "eos", "frames": 11, "seconds": 10.1, "elements": rows}, events)
        self.assertAlmostEqual(measures.rate(found), 100.0, places=6)

    def test_files_that_the_tracer_did_not_write_are_told_with_what_to_do(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(trace.TraceError, "no '.*elements.json'.*--environment"):
                trace.load(Path(folder))
            Path(folder, "elements.json").write_text("{")
            with self.assertRaisesRegex(trace.TraceError, "not what the tracer writes"):
                trace.load(Path(folder))
            Path(folder, "elements.json").write_text('{"end": "eos"}')
            Path(folder, "trace.json").write_text("[]")
            with self.assertRaisesRegex(trace.TraceError, "another version"):
                trace.load(Path(folder))


class Bounds(unittest.TestCase):
    def kind(self, *given, **more) -> str:
        return bound.of(facts(*given, **more)).kind

    def test_a_network_that_runs_all_the_time_bounds(self):
        found = bound.of(facts(*network(100, 10, 9.5)))
        self.assertEqual(found.kind, "network")
        self.assertIn("95 %", found.what)
        self.assertIn("autotune", found.remedy)

    def test_batches_with_room_are_named(self):
        self.assertEqual(self.kind(*network(100, 10, 9.5, batch=2, limit=8)), "batches")
        self.assertEqual(self.kind(*network(100, 10, 9.5, batch=7, limit=8)), "network")

    def test_frames_that_wait_for_a_batch_while_the_network_is_idle_are_told(self):
        report, events = network(100, 40, 4, batch=1, limit=8)
        late = [event | {"ts": event["ts"] + 20 * MS} if event["name"] == "sink" else event for event in events]
        self.assertEqual(self.kind(report, late), "batches")
        self.assertEqual(self.kind(report, events), "source")

    def test_a_gpu_that_works_on_the_network_all_the_time_is_told_though_no_thread_is_busy(self):
        # Runs are enqueued in 0.2 ms and not waited for.
        found = bound.of(facts(*network(100, 10, 0.2, gpu_ms=9.8)))
        self.assertEqual(found.kind, "network")
        self.assertIn("the GPU worked on infer 99 % of the time, 9.80 ms a run of 1.0 frames", found.what)
        self.assertEqual(self.kind(*network(100, 10, 0.2, gpu_ms=3)), "source")
        self.assertEqual(self.kind(*network(100, 10, 0.2, batch=2, limit=8, gpu_ms=9.8)), "batches")

    def test_launches_bound_where_each_run_on_a_gpu_is_waited_for(self):
        self.assertEqual(self.kind(*network(100, 10, 9.5, waits=100, gpu_ms=9.4)), "launches")
        self.assertEqual(self.kind(*network(100, 10, 9.5, waits=0, gpu_ms=9.4)), "network")
        self.assertEqual(self.kind(*network(100, 10, 9.5, waits=100)), "network", "no GPU")
        self.assertEqual(self.kind(*network(100, 10, 0.2, waits=100, gpu_ms=9.8)), "network", "who waits for its turn has graphs")

    def test_elements_that_share_an_instance_are_one_network(self):
        report, events = network(100, 10, 9.5)
        # Every second run is the other element's.
        number = 0
        for event in events:
            if event.get("cat") == "run":
                event["name"], number = ("infer", "other")[number % 2], number + 1
        stats = report["elements"][1]["stats"] | {"frames": 50}
        report["elements"].append(row("other", "trtinfer", 50, ["sink"], stats=stats))
        [worker] = facts(report, events).workers
        self.assertEqual((worker.elements, worker.runs), (["infer", "other"], 100))
        found = bound.of(facts(report, events))
        self.assertEqual(found.kind, "network")
        self.assertIn("infer, with 1 that shares its instance, was in the network 95 %", found.what)

    def test_a_decoder_that_waits_for_the_hardware_all_the_time_bounds(self):
        events = [event for n in range(50) for event in (call("a", 1, 10 * n, 9.5, 0.3, n), call("z", 1, 10 * n + 9, 0.2, 0.1, n))]
        rows = [row("a", "nvh264dec", 50, ["z"]), row("z", "fakesink", 50, [])]
        found = bound.of(facts({"end": "eos", "frames": 50, "seconds": 0.5, "elements": rows}, events))
        self.assertEqual(found.kind, "decoder")
        self.assertIn("a waits for its decoder 9", found.what)

    def test_loading_is_no_part_of_the_time_that_shares_are_of(self):
        report, events = network(100, 10, 9.5)
        for event in events:
            if not (event["name"] in ("src", "infer") and event["ts"] < 1 * MS):
                event["ts"] += 3000 * MS
        self.assertEqual(self.kind(report | {"seconds": 4.0}, events), "network")

    def test_copies_that_take_a_part_of_each_frame_are_told_with_their_size(self):
        found = bound.of(facts(*network(100, 10, 9.5, copied=22_000_000)))
        self.assertEqual(found.kind, "copies")
        self.assertIn("infer copies 22,000 KB a frame from the GPU", found.what)
        self.assertEqual(self.kind(*network(100, 10, 9.5, copied=100_000)), "network")

    def threads(self, factory: str, share: float = 0.95) -> tuple[dict, list[dict]]:
        """A thread that is busy for this share, most of it in an element of this kind."""
        events = []
        for n in range(50):
            events += [call("first", 1, 10 * n, 10 * share, pts=n), call("second", 1, 10 * n + 1, 1, pts=n)]
        rows = [row("first", factory, 50, ["second"]), row("second", "fakesink", 50, [])]
        return {"end": "eos", "frames": 50, "seconds": 0.5, "elements": rows}, events

    def test_one_thread_that_computes_all_the_time_bounds_and_a_decoder_is_called_one(self):
        found = bound.of(facts(*self.threads("tracker")))
        self.assertEqual(found.kind, "thread")
        self.assertIn("queue", found.remedy)
        self.assertIn("84 % in first", found.what)
        for factory in ("avdec_h264", "openh264dec", "jpegdec"):
            self.assertEqual(self.kind(*self.threads(factory)), "decoder", factory)
        self.assertIn("preset", bound.of(facts(*self.threads("x264enc"))).remedy)
        self.assertIn("Remove it", bound.of(facts(*self.threads("videoconvert"))).remedy)

    def test_a_sink_that_waits_for_the_clock_and_a_source_that_gives_no_more_are_no_bound(self):
        events = [event for n in range(50) for event in (call("a", 1, 10 * n, 9, 0.2, n), call("z", 1, 10 * n + 1, 7, 0.1, n))]
        report = {
            "end": "eos",
            "frames": 50,
            "seconds": 0.5,
            "elements": [row("a", "x", 50, ["z"]), row("z", "autovideosink", 50, [])],
        }
        found = bound.of(facts(report, events))
        self.assertEqual(found.kind, "clock")
        self.assertIn("sync=false", found.remedy)
        self.assertEqual(self.kind(*self.threads("identity", share=0.2)), "source")

    def test_all_cores_together_may_be_what_bounds(self):
        report, events = self.threads("tracker", share=0.6)
        self.assertEqual(self.kind(report, events, cpu_seconds=1.95, cores=4), "processor")
        self.assertEqual(self.kind(report, events, cpu_seconds=1.0, cores=4), "source")

    def test_a_pipeline_that_failed_or_did_nothing_says_so(self):
        report, events = network(10, 10, 9.5)
        self.assertEqual(self.kind(report | {"end": "error"}, events), "error")
        self.assertEqual(self.kind({"end": "eos", "frames": 0, "seconds": 0.0, "elements": []}, []), "nothing")

    def test_what_else_is_wrong_is_told_besides(self):
        report, events = network(100, 10, 9.5, waits=300)
        report["elements"][1]["stats"] |= {"fallbacks": 7, "dropped": 3, "step-downs": 1}
        reported = " ".join(bound.notes(bound.Facts.of(trace.read(report, events), None, 2, load_before=5.0)))
        for part in ("7 of its frames", "3.0 times a frame", "dropped 3", "smaller 1 times", "5.0 of 2 cores"):
            self.assertIn(part, reported)

    def test_the_cpu_is_no_slower_path_where_there_is_no_gpu(self):
        for count, has_gpu, is_reported in ((1, False, False), (1, True, True), (8, False, True)):
            report, events = network(100, 10, 9.5)
            report["elements"][1]["stats"] |= {"fallbacks": count}
            reported = " ".join(bound.notes(bound.Facts.of(trace.read(report, events), None, 2, has_gpu=has_gpu)))
            self.assertEqual("slower path" in reported, is_reported, (count, has_gpu))


def profile(folder: Path, *given, **more) -> summary.Profile:
    """A folder as a run leaves it."""
    folder.mkdir(parents=True)
    report, events = network(*given, **more)
    names = {"name": "thread_name", "ph": "M", "pid": 9, "tid": 1, "args": {"name": "src:src"}}
    gpu = [
        {"name": "infer", "cat": "gpu", "ph": "X", "ts": n * 10 * MS, "dur": 5 * MS, "pid": 0, "tid": 3, "args": {}}
        for n in range(100)
    ]
    memory = [
        {"name": "infer", "cat": "memory", "ph": "C", "ts": n * 100 * MS, "pid": 9, "tid": 0, "args": {"used": 2**30}}
        for n in range(9)
    ]
    (folder / "elements.json").write_text(json.dumps(report))
    (folder / "trace.json").write_text(json.dumps([names, *events, *gpu, *memory]))
    (folder / "run.json").write_text(
        json.dumps({"command": "gst-launch-1.0 src ! sink <&>", "cpu_seconds": 1.0, "cores": 2, "processor": "P"})
    )
    return summary.read(folder)


class Tags(html.parser.HTMLParser):
    """What stands in a page: how often each tag, the text, and addresses."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [value for key, value in attrs if key in ("src", "href", "srcset")]

    def handle_data(self, data):
        self.words += data


class Pages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_the_page_has_every_plot_in_light_and_dark_and_needs_nothing_from_outside(self):
        found = profile(self.folder / "one", 100, 10, 9.5, batch=2, limit=4, copied=22_000_000)
        tags = Tags(page.report(found))
        self.assertEqual(tags.tags.count("img"), len(plots.PLOTS))
        self.assertEqual(tags.tags.count("source"), len(plots.PLOTS))
        self.assertTrue(all(address.startswith("data:image/svg+xml;base64,") for address in tags.addresses), "an address outside")
        self.assertIn("src ! sink <&>", tags.words)
        self.assertIn(found.bound.what, tags.words)

    def test_a_plot_without_anything_to_show_says_why(self):
        found = profile(self.folder / "one", 100, 10, 9.5)
        found.trace.memory.clear()
        tags = Tags(page.report(found))
        self.assertIn("No GPU was used.", tags.words)
        self.assertIn("Nothing was copied to or from a GPU.", tags.words)

    def test_no_text_of_a_plot_overlaps_another_or_leaves_the_picture(self):
        found = profile(self.folder / "one", 100, 10, 9.5, batch=2, limit=4, copied=22_000_000)
        long = "-of-a-pipeline-with-very-long-names-0123456789"
        for named in [*found.facts.elements, *found.trace.runs, *found.trace.gpu]:
            named.name += long
        for named in found.trace.elements:
            named["name"] += long
        from matplotlib import pyplot
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        for title, plot, _ in plots.PLOTS:
            with pyplot.rc_context(plots.style("light")):
                figure = plot(found)
                canvas = FigureCanvasAgg(figure)
                canvas.draw()
                renderer = canvas.get_renderer()
                whole = figure.bbox
                texts = [text for text in figure.findobj(pyplot.Text) if text.get_text().strip() and text.get_visible()]
                # Ticks outside of an axis' range are not drawn.
                boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in texts]
                boxes = [(words, box) for words, box in boxes if box.width and whole.x0 - 1 <= box.x0 and box.x1 <= whole.x1 + 1]
                self.assertTrue(boxes, title)
                for number, (one, a) in enumerate(boxes):
                    for other, b in boxes[number + 1 :]:
                        wide, high = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
                        self.assertFalse(wide > 1 and high > 1, f"{title}: '{one}' and '{other}' overlap")
                pyplot.close(figure)

    def test_two_profiles_are_set_side_by_side_with_ratios(self):
        before, after = profile(self.folder / "slow", 100, 20, 19), profile(self.folder / "fast", 100, 10, 9.5)
        rows = compare.rows(before, after)
        self.assertEqual(next(row for row in rows if row[0] == "frames a second")[3], "2.00")
        words = Tags(page.compared(before, after, rows)).words
        self.assertIn("slow and fast", words)
        self.assertIn("after:  The network bounds", compare.text(before, after))

    def test_the_summary_says_the_bound_first_and_the_report_is_json(self):
        found = profile(self.folder / "one", 100, 10, 9.5)
        summary.write(found)
        text = (found.folder / "summary.txt").read_text()
        self.assertTrue(text.startswith(found.bound.what), text)
        reported = json.loads((found.folder / "report.json").read_text())
        self.assertEqual((reported["bound"]["kind"], reported["streams"], reported["workers"][0]["limit"]), ("network", 1, 1))
        self.assertAlmostEqual(reported["frames_per_second"], 100.0, places=3)

    @unittest.skipUnless(shutil.which("chromium"), "there is no chromium: the page was not opened in a browser")
    def test_a_browser_shows_the_page_light_and_dark_without_scrolling_sideways(self):
        found = profile(self.folder / "one", 100, 10, 9.5, batch=2, limit=4, copied=22_000_000)
        found.run["command"] = "gst-launch-1.0 " + "a-word-without-any-space" * 40
        probe = """<script>window.onload = () => { const all = [...document.images]; document.title = JSON.stringify({
            loaded: all.every(one => one.complete && one.naturalWidth > 0), images: all.length,
            dark: all.filter(one => one.currentSrc != one.src).length,
            wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
            back: getComputedStyle(document.body).backgroundColor, text: getComputedStyle(document.body).color }); }</script>"""
        file = self.folder / "page.html"
        file.write_text(page.report(found).replace("</body>", probe + "</body>"))
        for theme, back, dark in (("1", "rgb(255, 255, 255)", 0), ("0", "rgb(22, 24, 29)", len(plots.PLOTS))):
            words = [
                "chromium",
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--window-size=900,2000",
                f"--user-data-dir={self.folder / theme}",
                f"--blink-settings=preferredColorScheme={theme}",
                "--virtual-time-budget=20000",
                "--dump-dom",
                file.as_uri(),
            ]
            done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
            title = done.stdout.partition("<title>")[2].partition("</title>")[0]
            reported = json.loads(title)
            self.assertEqual(
                (reported["loaded"], reported["images"], reported["dark"], reported["wide"], reported["back"]),
                (True, len(plots.PLOTS), dark, 0, back),
            )


if __name__ == "__main__":
    unittest.main()
