"""What a person does with the page, step by step. Each check goes on where the one before has ended."""

import base64
import contextlib
import datetime
import hashlib
import json
import pathlib
import re
import time
import urllib.error
import urllib.request
from urllib.parse import urlsplit

import axe_core_python
from playwright.sync_api import expect

from farm import REPOSITORY, TOKEN
from measure import measure_many_jobs, measure_many_segments
from paths import brute_force_path, random_attempts

MEDIA = REPOSITORY / "Examples/media"
AXE = next(pathlib.Path(axe_core_python.__file__).parent.rglob("axe.min.js")).read_text()
VIEWS = ["#/", "#/jobs", "#/workers", "#/access", "#/new"]

STATE = "(await import('/assets/state.js')).farm"


def document(size=(320, 180), preset="veryfast", use="0..4", clips=1):
    """A document of one file, as text. Each clip is a segment of its own, or several."""
    tracks = [{"asset": "clip", "use": use} for _ in range(clips)]
    return json.dumps({
        "sheaf": 1, "assets": {"clip": "media/flower.mp4"},
        "tracks": [{"id": "A", "type": "video", "clips": tracks}],
        "videoComposition": {"renderSize": size, "frameDuration": "1/30"},
        "export": {"to": "film.mp4", "video": {"codec": "h264", "quality": 30, "preset": preset}},
    }, indent=2)


def go(page, place):
    page.evaluate("place => { location.hash = place }", place)


def drop(page, files):
    """Drops files anywhere on the page. `files`: bytes by name."""
    page.evaluate("""files => {
      const transfer = new DataTransfer();
      for (const [name, text] of Object.entries(files)) {
        const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
        transfer.items.add(new File([bytes], name));
      }
      window.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
    }""", {name: base64.b64encode(content).decode() for name, content in files.items()})


def state(page, expression):
    """A value that is computed from the page's state, `farm`."""
    return page.evaluate(f"async () => {{ const farm = {STATE}; return {expression}; }}")


def eventually(what, holds, seconds=30):
    limit = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < limit, f"not in time: {what}"
        time.sleep(0.05)


def shown_job(page):
    return re.search(r"#/jobs/(\w+)$", page.url).group(1)


def token(page, farm):
    """The page asks for the token, once, says when it was wrong, and keeps it for the session."""
    page.goto(farm.address)
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    # Who closes the question is not asked again, however often requests are refused.
    with page.expect_response(lambda reply: reply.status == 401):
        page.keyboard.press("Escape")
    page.wait_for_event("response", lambda reply: reply.status == 401)
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("alert")).to_contain_text("the farm’s token was not given")
    page.get_by_role("button", name="Give the token").click()
    dialog.get_by_label("Token").fill("wrong")
    dialog.get_by_role("button", name="Continue").click()
    expect(page.get_by_text("The token was refused")).to_be_visible()
    dialog = page.get_by_role("dialog").last
    dialog.get_by_label("Token").fill(TOKEN)
    dialog.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("status").first).to_have_text("Live")
    page.reload()
    expect(page.get_by_role("status").first).to_have_text("Live")
    expect(dialog).to_have_count(0)
    eventually("both workers", lambda: state(page, "farm.workers.length") == 2)


def digests(page, farm):
    """The page's SHA-256 is that of the standard, whatever the parts."""
    sizes = [0, 1, 3, 55, 56, 63, 64, 65, 119, 120, 1000, 1_000_000]
    found = page.evaluate("""async sizes => {
      const { SHA256 } = await import("/assets/sha256.js");
      return sizes.map(size => {
        const bytes = Uint8Array.from({ length: size }, (_, index) => index * 7 % 251);
        return [1, 13, 64, 1000, size + 1].map(part => {
          const hash = new SHA256();
          if (size > 10_000 && part < 64) part = 4099;
          for (let at = 0; at < size; at += part) hash.update(bytes.subarray(at, at + part));
          return hash.hex();
        });
      });
    }""", sizes)
    for size, values in zip(sizes, found):
        wanted = hashlib.sha256(bytes(index * 7 % 251 for index in range(size))).hexdigest()
        assert set(values) == {wanted}, f"{size} bytes: {values}"


def mistakes(page, farm):
    """A document is checked as one types, with problems at their lines."""
    go(page, "#/new")
    text = document().replace('"quality": 30', '"quality": "high"')
    page.get_by_role("textbox", name="Document").fill(text)
    line = next(number for number, row in enumerate(text.split("\n"), 1) if '"high"' in row)
    expect(page.locator(".findings .problem").first).to_be_visible()
    expect(page.locator(f".gutter span.problem:nth-child({line})")).to_have_text(str(line))
    assert page.get_by_role("button", name="Submit").is_disabled()
    page.get_by_role("button", name=f"line {line},").click()
    place = page.evaluate("document.querySelector('#document').selectionStart")
    assert text[:place].count("\n") == line - 1


def submission(page, farm):
    """Dropped files are uploaded, an upload goes on after a reload, and the job is watched to its end."""
    go(page, "#/new")
    # Of two parts, of which the second is kept back.
    media = (MEDIA / "flower.mp4").read_bytes() + bytes(4 << 20)
    sent = []

    def take(route):
        sent.append(route.request.headers["upload-offset"])
        if len(sent) == 1:
            route.continue_()

    page.route("**/v1/content/*", lambda route: take(route) if route.request.method == "PATCH" else route.continue_())
    files = {"edit.json": document().encode(), "flower.mp4": media}
    drop(page, files)
    eventually("the second part", lambda: page.evaluate("1") and len(sent) == 2)
    page.reload()
    page.unroute_all(behavior="ignoreErrors")
    expect(page.get_by_role("textbox", name="Document")).to_have_value(document())
    offsets = []
    page.on("request", lambda request: offsets.append(request.headers.get("upload-offset")) if request.method == "PATCH" else 0)
    drop(page, {"flower.mp4": media})
    expect(page.locator(".media .what")).to_contain_text("at the farm")
    assert offsets == [str(4 << 20)], f"{offsets}"
    expect(page.get_by_text("It can be rendered")).to_be_visible()
    page.get_by_label("Name").fill("first")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="first")).to_be_visible()
    expect(page.locator(".job-title .state")).to_have_text("done")
    assert state(page, f"farm.jobs.get('{shown_job(page)}').name") == "first"


def film(page, farm):
    """The film is downloaded and played, with stills of it."""
    job = shown_job(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    digest = hashlib.sha256(pathlib.Path(download.value.path()).read_bytes()).hexdigest()
    assert digest == farm.request("GET", f"/v1/jobs/{job}")["output"]["digest"]
    assert download.value.suggested_filename == "film.mp4"
    page.get_by_role("button", name="Play").click()
    expect(page.locator("video")).to_be_visible()
    eventually("the film's pictures", lambda: page.evaluate("document.querySelector('video').videoWidth") == 320)
    expect(page.locator(".filmstrip img").first).to_be_visible()


def trace(page, farm):
    """The timeline is exported as a trace of complete events."""
    go(page, "#/")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export trace").click()
    events = json.loads(pathlib.Path(download.value.path()).read_text())
    bars = check_trace(events)
    assert any(event["name"].startswith("frames ") for event in bars)
    assert all(event["ts"] > 1e15 for event in bars)
    names = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert names == {"alder", "birch"}, names
    # Bars that touch between two microseconds, two at a time in one lane, one that runs, and a pause.
    made = page.evaluate("""async () => {
      const { chromeTrace } = await import("/assets/trace.js");
      const bar = (start, end, lane) => ({
        job: "j", ordinal: 0, label: "", worker: "w", workerName: "oak", start, end, outcome: "done", reason: null, lane,
        phases: null, isBackup: false,
      });
      const workers = new Map([["w", { id: "w", name: "oak", pauses: [{ start: 102, end: null, reason: "disk" }] }]]);
      const attempts = [bar(103.0000017, 104.0000034, 0), bar(100.0000014, 103.0000017, 0), bar(101, 102, 0),
        bar(110, null, 1)];
      return chromeTrace({ attempts, workers }, 109, job => job);
    }""")
    assert [(bar["ts"], bar["dur"], bar["tid"]) for bar in check_trace(made)] == [
        (100_000_001, 3_000_001, 1), (101_000_000, 1_000_000, 2), (102_000_000, 7_000_000, 0),
        (103_000_002, 1_000_001, 1), (110_000_000, 0, 2)], made


def phases(page, farm):
    """What an attempt spent its time on is nested in its slice of the trace, and two workers of one name are two."""
    made = page.evaluate("""async () => {
      const { AttemptLog } = await import("/assets/attempts.js");
      const { chromeTrace } = await import("/assets/trace.js");
      const log = new AttemptLog();
      const task = (event, time, workerID, ordinal, more = {}) => log.apply({
        event, time, job: "j", ordinal, epoch: 1, label: `frames ${ordinal}..${ordinal}`, worker: "oak", workerID, ...more,
      });
      task("taskGranted", 100, "first1", 0);
      task("taskGranted", 100, "second", 1);
      const phases = { waitSeconds: 0, fetchSeconds: 1.5, renderSeconds: 6, uploadSeconds: 2 };
      task("taskDone", 110, "first1", 0, { seconds: 10, ...phases });
      task("taskFailed", 105, "second", 1, { seconds: 5, end: "crashed" });
      return { lanes: log.attempts.map(bar => [bar.worker, bar.lane]), trace: chromeTrace(log, 120, job => job) };
    }""")
    assert made["lanes"] == [["first1", 0], ["second", 0]], made["lanes"]
    names = [event["args"]["name"] for event in made["trace"] if event["name"] == "process_name"]
    assert names == ["oak first1", "oak second"], names
    bars = check_trace(made["trace"])
    assert [(bar["name"], bar["ts"], bar["dur"]) for bar in bars if bar["pid"] == 1] == [
        ("frames 0..0", 100_000_000, 10_000_000), ("fetch", 100_000_000, 1_500_000), ("render", 101_500_000, 6_000_000),
        ("upload", 107_500_000, 2_000_000)], bars
    real = state(page, "farm.log.attempts.filter(bar => bar.outcome === 'done' && bar.label.startsWith('frames '))")
    assert len(real) > 0
    for bar in real:
        assert bar["phases"][2] > 0 and sum(bar["phases"]) < bar["end"] - bar["start"] + 0.05, bar


def critical_path(page, farm):
    """The critical path of random attempts, and of a real job, is what its definition gives."""
    made = [random_attempts(seed) for seed in range(60)]
    first = next(job["job"] for job in farm.request("GET", "/v1/jobs")["jobs"] if job["name"] == "first")
    real = state(page, f"farm.log.attempts.filter(attempt => attempt.job === '{first}')")
    found = page.evaluate("""async logs => {
      const { criticalPath } = await import("/assets/critical-path.js");
      return logs.map(log => criticalPath(log).map(({ attempt, from, to }) => [log.indexOf(attempt), from, to]));
    }""", [*made, real])
    for log, path in zip([*made, real], found):
        wanted = brute_force_path(log)
        assert [link[0] for link in path] == [link[0] for link in wanted], (log, path, wanted)
        assert all(abs(a - b) < 1e-6 for link, other in zip(path, wanted) for a, b in zip(link, other)), (path, wanted)
    kinds = [re.sub(r"[ :].*", "", real[link[0]]["label"]) for link in found[-1]]
    assert len(kinds) > 1 and kinds[-1] == "stitch" and set(kinds) <= {"probe", "frames", "audio", "stitch"}, kinds
    assert real[found[-1][-1][0]]["end"] == max(attempt["end"] for attempt in real)


def chosen_path(page, farm):
    """The critical path of a job is chosen by its link or in the timeline's list, and is said in words."""
    go(page, "#/jobs")
    page.get_by_role("link", name="first").click()
    page.get_by_role("link", name="Critical path").click()
    path = page.locator(".path")
    expect(path).to_contain_text(re.compile(r"Critical path of first: \d+ attempts in [0-9.]+ s: "))
    choice = page.get_by_label("Critical path of a job")
    job = choice.input_value()
    assert page.url.endswith(f"#/?job={job}")
    choice.select_option("")
    expect(path).to_be_hidden()
    assert page.url.endswith("#/")
    choice.select_option(job)
    expect(path).to_contain_text("Critical path of first")


def costs(page, farm):
    """A task shows what its attempts took and why its segment starts there, and a job what that was by worker."""
    job = next(job["job"] for job in farm.request("GET", "/v1/jobs")["jobs"] if job["name"] == "first")
    usage = {"waitSeconds": 0.5, "fetchSeconds": 1.5, "renderSeconds": 6, "uploadSeconds": 2, "cpuSeconds": 11,
             "peakBytes": 300 << 20, "fetchedBytes": 20 << 20, "uploadedBytes": 5 << 20}
    go(page, f"#/jobs/{job}")
    # As the farm has measured it.
    expect(page.get_by_role("columnheader", name="Peak memory")).to_be_visible()
    measured = farm.request("GET", f"/v1/jobs/{job}")["usage"]
    assert measured["attempts"] >= 2 and measured["total"]["cpuSeconds"] > 0, measured
    tasks = farm.request("GET", f"/v1/jobs/{job}/tasks")
    video = next(task for task in tasks["tasks"] if task["kind"] == "video")
    video.update(usage=usage, boundary="a keyframe of clip")
    video["attempts"] = [{"epoch": 1, "worker": video["worker"], "workerName": video["workerName"], "ranSeconds": 3.0,
                          "end": "crashed", "message": "signal 11", "usage": {**usage, "cpuSeconds": 2}}]
    status = farm.request("GET", f"/v1/jobs/{job}")
    status["usage"] = {"attempts": 2, "total": {**usage, "cpuSeconds": 13}, "workers": [
        {"worker": video["worker"], "workerName": video["workerName"], "attempts": 2, "usage": {**usage, "cpuSeconds": 13}}]}
    with answered(page, {f"/v1/jobs/{job}": status, f"/v1/jobs/{job}/tasks": tasks}):
        go(page, f"#/jobs/{job}")
        page.get_by_role("button", name=video["label"]).click()
        expect(page.locator(".task-detail > .usage")).to_contain_text("Peak memory300 MiB")
        expect(page.locator(".task-detail .attempts .usage")).to_contain_text("CPU2.0 s")
        expect(page.locator(".task-detail")).to_contain_text("Why it starts there: a keyframe of clip.")
        row = page.get_by_role("row", name=re.compile(f"^{video['workerName']} "))
        for text in ["13 s", "20.0 MiB", "5.0 MiB", "300 MiB"]:
            expect(row.get_by_role("cell", name=text)).to_be_visible()
        page.locator(".segments").focus()
        page.keyboard.press("Home")
        expect(page.locator("#tip")).to_contain_text("why it starts there: a keyframe of clip")


def marks(page, farm):
    """Damage and warnings are at their places in the film, also for those who use the keyboard."""
    job = next(job["job"] for job in farm.request("GET", "/v1/jobs")["jobs"] if job["name"] == "first")
    status = farm.request("GET", f"/v1/jobs/{job}")
    status.update(
        film={"frameSeconds": 1 / 30, "places": [{"pointer": "/tracks/0/clips/0", "firstFrame": 60, "endFrame": 90}]},
        warnings=[{"pointer": "/tracks/0/clips/0", "message": "it is very large"}],
        damage=[{"path": "flower.mp4", "track": 0, "type": "video", "count": 1,
                 "places": [{"sourceSeconds": 0.5, "filmSeconds": 0.5}]}])
    with answered(page, {f"/v1/jobs/{job}": status}):
        go(page, f"#/jobs/{job}")
        page.get_by_role("button", name="frame 15").click()
        expect(page.locator("#tip")).to_contain_text("damage: flower.mp4: video, frame 15")
        page.get_by_role("button", name="frame 60").click()
        said = page.locator(".segments").get_attribute("aria-valuetext")
        assert "warning: it is very large, frame 60" in said, said


def warnings(page, farm):
    """A warning about a part of the document is at the frames of that part."""
    text = json.loads(document())
    text["videoComposition"]["overlays"] = [{"text": "never seen", "over": "1..2", "opacity": 0}]
    job = submit(farm, "warned", text)
    go(page, f"#/jobs/{job}")
    expect(page.locator(".findings .warning", has_text="its opacity is 0 throughout")).to_be_visible()
    page.get_by_role("button", name="frame 30").click()
    expect(page.locator("#tip")).to_contain_text("warning: the overlay is never seen: its opacity is 0 throughout, frame 30")
    expect(page.locator(".job-title .state")).to_have_text("done")


def submit(farm, name, text):
    """Submits a document whose medium was uploaded by `submission`."""
    media = (MEDIA / "flower.mp4").read_bytes() + bytes(4 << 20)
    return farm.request("POST", "/v1/jobs", {
        "name": name, "document": text,
        "assets": [{"id": "clip", "digest": hashlib.sha256(media).hexdigest(), "size": len(media)}]})["job"]


@contextlib.contextmanager
def answered(page, replies):
    """Requests are answered with values by their paths, and not by the farm."""
    def answer(route):
        route.fulfill(body=json.dumps(replies[urlsplit(route.request.url).path]), content_type="application/json")

    go(page, "#/workers")
    for path in replies:
        page.route(f"**{path}", answer)
    yield
    page.unroute_all(behavior="ignoreErrors")
    go(page, "#/workers")
    page.reload()


def check_trace(events):
    """Checks events by the rules of the Trace Event Format, and returns those that are complete."""
    numbers = [event[key] for event in events for key in ["ts", "pid", "tid"]]
    assert all(type(number) is int and number >= 0 for number in numbers)
    bars = [event for event in events if event["ph"] == "X"]
    assert len(bars) > 0 and {event["ph"] for event in events} == {"M", "X"}
    assert all(type(event["dur"]) is int and event["dur"] >= 0 for event in bars)
    assert [event["ts"] for event in events] == sorted(event["ts"] for event in events)
    named = [(event["name"], event["pid"], event["tid"]) for event in events if event["ph"] == "M"]
    assert len(named) == len(set(named))
    # Of each thread, the ends of the slices that are open: one begins after another, or lies within it.
    ends = {}
    for event in bars:
        thread = (event["pid"], event["tid"])
        assert ("thread_name", *thread) in named and ("process_name", event["pid"], 0) in named, event
        around = ends.setdefault(thread, [])
        while around and around[-1] <= event["ts"]:
            around.pop()
        end = event["ts"] + event["dur"]
        assert not around or event["cat"] == "phase" and end <= around[-1], f"{event} overlaps the bar before it"
        around.append(end)
    return bars


def accessibility(page, farm):
    """Each view has no violation of axe's rules, in both themes."""
    job = next(job["job"] for job in farm.request("GET", "/v1/jobs")["jobs"] if job["state"] == "done")
    for theme in ["light", "dark"]:
        page.emulate_media(color_scheme=theme)
        for view in [*VIEWS, f"#/jobs/{job}", f"#/?job={job}"]:
            go(page, view)
            page.wait_for_timeout(150)
            found = page.evaluate(
                f"async () => {{ {AXE}\n return (await axe.run()).violations.map(rule =>"
                " [rule.id, ...rule.nodes.map(node => node.html)]); }")
            assert found == [], f"{view} {theme}: {found}"
            wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert wide <= 0, f"{view} is too wide by {wide}"
    page.emulate_media(color_scheme="light")


def actions(page, farm):
    """A job is cancelled after a question, retried, and seen after a reload in its midst."""
    go(page, "#/new")
    digest = hashlib.sha256((MEDIA / "flower.mp4").read_bytes()).hexdigest()
    drop(page, {"slow.json": document((1280, 720), "slow", "0..5", 4).encode(),
                "flower.mp4": (MEDIA / "flower.mp4").read_bytes()})
    page.get_by_label("Length of segments").fill("1")
    page.get_by_role("button", name="Submit").click()
    expect(page.locator(".job-title .state")).to_have_text("rendering")
    assert digest in page.evaluate("performance.getEntriesByType('resource').map(entry => entry.name).join()")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Keep it as it is").click()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Cancel the job").click()
    expect(page.locator(".job-title .state")).to_have_text("cancelled")
    page.get_by_role("button", name="Retry").click()
    expect(page.locator(".job-title .state")).to_have_text("rendering")
    page.reload()
    expect(page.locator(".job-title .state")).to_have_text("rendering")
    expect(page.locator(".task-row .state", has_text="running").first).to_be_visible()


def readings(page, farm):
    """The tasks of a job are read again when an event says that something changed, and not before."""
    read, then = page.evaluate("""async () => {
      const { JobTasks } = await import("/assets/task-watch.js");
      const { api } = await import("/assets/api.js");
      const real = api.tasks;
      const running = kind => ({ ordinal: 0, kind, state: "running", ranSeconds: 1, attempts: [] });
      api.tasks = async () => ({ tasks: ["probe", "measure", "video", "audio", "stitch"].map(running) });
      const tasks = new JobTasks("j", () => {});
      await tasks.load();
      const read = tasks.timer !== null;
      tasks.take({ event: "taskFailed", ordinal: 0, job: "j" });
      const then = tasks.timer !== null;
      tasks.end();
      api.tasks = real;
      return [read, then];
    }""")
    assert (read, then) == (False, True)
    reading = f"/v1/jobs/{shown_job(page)}/tasks"
    with page.expect_request(lambda request: request.url.endswith(reading)):
        pass


def notification(page, farm):
    """The browser notifies of the end of a job for which that was asked, whatever view is shown then."""
    page.context.grant_permissions(["notifications"], origin=farm.address)
    job = submit(farm, "watched", json.loads(document((640, 360), "slow", "0..5", 2)))
    page.evaluate("""() => {
      window.shown = [];
      window.Notification = class extends Notification {
        constructor(title, options) {
          super(title, options);
          this.addEventListener("show", () => shown.push(this));
        }
      };
    }""")
    go(page, f"#/jobs/{job}")
    tell = page.get_by_role("button", name="Tell me at the end")
    tell.click()
    expect(tell).to_have_attribute("aria-pressed", "true")
    go(page, "#/workers")
    eventually("the notification", lambda: page.evaluate("shown.length") == 1, 60)
    assert page.evaluate("shown[0].title") == "watched: done"
    page.evaluate("shown[0].onclick()")
    expect(page.get_by_role("heading", name="watched")).to_be_visible()
    expect(tell).to_be_hidden()
    page.wait_for_timeout(50)
    assert page.evaluate("shown.length") == 1


def watching(page, farm):
    """A film plays while it is rendered: what is there at once, and the rest when it comes."""
    job = farm.request("POST", "/v1/jobs", {
        "document": {
            "sheaf": 1, "assets": {"a": {"color": "#c02020"}}, "tracks": [{"clips": [{"asset": "a", "duration": 40}]}],
            "videoComposition": {"renderSize": [320, 180], "frameRate": 25},
            "export": {"to": "watched.mp4", "video": {"codec": "h264", "preset": "veryfast"}}},
        "name": "watched", "segmentDuration": "1", "isPaused": True})["job"]
    go(page, f"#/jobs/{job}")
    status = lambda: farm.request("GET", f"/v1/jobs/{job}")
    # Until it is planned there are no segments to watch, and then not all of them.
    farm.request("POST", f"/v1/jobs/{job}/resume")
    # The second one may be done before the first, which the pause would then stop.
    first = lambda: min(farm.request("GET", f"/v1/jobs/{job}/tasks")["tasks"], key=lambda task: task["ordinal"])
    eventually("the first segment", lambda: status()["segmentsDone"] > 0 and first()["state"] == "done")
    farm.request("POST", f"/v1/jobs/{job}/pause?now=true")
    there = status()
    assert there["state"] == "rendering" and there["segmentsDone"] < there["segmentsTotal"], f"{there}"
    page.get_by_role("button", name="Watch while it renders").click()
    player = page.get_by_label("The film so far")
    video = "document.querySelector('.watch video')"
    eventually("the first pictures", lambda: page.evaluate(f"{video}?.videoWidth") == 320)
    expect(page.get_by_text("The rest is added as it is rendered.")).to_be_visible()
    eventually("it plays", lambda: page.evaluate(f"{video}.currentTime") > 0.2)
    colour = page.evaluate(f"""() => {{
      const canvas = document.createElement("canvas");
      const context = canvas.getContext("2d");
      context.drawImage({video}, 0, 0, 1, 1);
      return [...context.getImageData(0, 0, 1, 1).data];
    }}""")
    # Browsers differ in what they make of a colour; it is this red, and not the black of a player without pictures.
    assert colour[0] > 160 and colour[1] < 64 and colour[2] < 64, f"{colour}"
    player.screenshot(path=str(farm.folder / "watched.png"))
    before = page.evaluate(f"{video}.buffered.end({video}.buffered.length - 1)")
    assert before < 40, f"{before}"
    farm.request("POST", f"/v1/jobs/{job}/resume")
    eventually("the job is done", lambda: status()["state"] == "done", 120)
    # The player stays, and has the whole film without a gap.
    eventually("the rest", lambda: page.evaluate(
        f"{video}.buffered.length === 1 && Math.abs({video}.buffered.end(0) - 40) < 0.01"))
    page.evaluate(f"{video}.currentTime = 39.5")
    eventually("its end", lambda: page.evaluate(f"{video}.ended"))
    # What is copied has no segments: there is nothing to watch, and the API says why.
    try:
        farm.request("GET", "/v1/jobs/none/watch/film.m3u8")
        raise AssertionError("there is no such job")
    except urllib.error.HTTPError as error:
        assert error.code == 404, f"{error.code}"


def killed_worker(page, farm):
    """The bar of a killed worker ends, and its segment goes elsewhere."""
    go(page, "#/")
    of_birch = "farm.log.attempts.filter(bar => bar.workerName === 'birch')"
    place = "`${bar.job} ${bar.ordinal}`"
    running = f"{of_birch}.filter(bar => bar.end === null).map(bar => {place})"
    eventually("a bar of birch", lambda: state(page, f"{running}.length") > 0)
    places = set(state(page, running))
    farm.kill("worker-birch")
    eventually("its bars have ended", lambda: state(page, f"{running}.length") == 0)
    expect(page.get_by_text("worker birch disconnected")).to_be_visible()
    # What it had published when it was killed is done.
    published = f"{of_birch}.filter(bar => bar.outcome === 'done').map(bar => {place})"
    elsewhere = f"farm.log.attempts.filter(bar => bar.workerName === 'alder').map(bar => {place})"
    eventually("its segment is granted elsewhere", lambda: places - set(state(page, published)) <= set(
        state(page, elsewhere)), 45)


def namesakes(page, farm):
    """Two connected workers of one name have rows of their own, and the beginnings of their ids."""
    for process in ["birch-1", "birch-2"]:
        farm.start_worker("birch", process)
    eventually("three workers", lambda: state(page, "farm.workers.length") == 3)
    ids = state(page, "farm.workers.filter(worker => worker.name === 'birch').map(worker => worker.id)")
    assert len(set(ids)) == 2, ids
    rows = page.evaluate("""async () => {
      const { Timeline } = await import("/assets/timeline.js");
      return new Timeline().rows().filter(row => row.status).map(row => [row.id, row.name]);
    }""")
    assert {name for id, name in rows if id in ids} == {f"birch {id[:6]}" for id in ids}, rows
    assert [name for id, name in rows if id not in ids] == ["alder"], rows
    go(page, "#/workers")
    for id in ids:
        expect(page.get_by_role("rowheader", name=f"birch {id[:6]}")).to_be_visible()


def holds(page, farm):
    """A worker is held with a reason and resumed, and the page lists both events."""
    go(page, "#/workers")
    page.get_by_role("button", name="Hold alder").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("How").select_option("paused")
    dialog.get_by_label("Why").fill("its host is wanted")
    dialog.get_by_role("button", name="Hold it").click()
    eventually("it is held", lambda: [
        (hold["worker"], hold["hold"], hold["reason"]) for hold in farm.request("GET", "/v1/holds")["holds"]
    ] == [("alder", "paused", "its host is wanted")])
    expect(page.get_by_text("paused: its host is wanted")).to_be_visible()
    page.get_by_role("button", name="Resume alder").click()
    eventually("it is resumed", lambda: farm.request("GET", "/v1/holds")["holds"] == [])
    expect(page.get_by_role("button", name="Resume alder")).to_have_count(0)
    go(page, "#/")
    expect(page.get_by_text("worker alder is granted tasks again")).to_be_visible()


def pools(page, farm):
    """A pool is given working hours, a job is moved into it, and the page says until when it waits."""
    go(page, "#/workers")
    page.get_by_role("button", name="Set hours…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Pool").fill("night")
    dialog.get_by_label("Open").fill("daily 25:00-26:00")
    dialog.get_by_label("Time zone").fill("UTC")
    dialog.get_by_role("button", name="Set").click()
    expect(page.get_by_text("is not from one time of day to another")).to_be_visible()
    page.keyboard.press("Escape")
    # An hour that is neither now nor soon.
    hour = (datetime.datetime.now(datetime.timezone.utc).hour + 12) % 24
    page.get_by_role("button", name="Set hours…").click()
    dialog.get_by_label("Pool").fill("night")
    dialog.get_by_label("Open").fill(f"daily {hour:02}:00-{hour:02}:30")
    dialog.get_by_label("Time zone").fill("UTC")
    dialog.get_by_role("button", name="Set").click()
    row = page.locator("section[aria-labelledby=pools-title] tbody tr", has_text="night")
    expect(row).to_contain_text("closed until")
    job = farm.request("POST", "/v1/jobs", {
        "document": {
            "sheaf": 1, "assets": {"a": {"color": "#206040"}}, "tracks": [{"clips": [{"asset": "a", "duration": 2}]}],
            "videoComposition": {"renderSize": [64, 36], "frameRate": 10}, "export": {"to": "nightly.mkv", "video": {"codec": "ffv1"}}},
        "name": "nightly", "isPaused": True})["job"]
    go(page, f"#/jobs/{job}")
    page.get_by_role("button", name="Pool").click()
    dialog.get_by_label("Only workers of this pool").fill("night")
    dialog.get_by_role("button", name="Change").click()
    eventually("it has the pool", lambda: farm.request("GET", f"/v1/jobs/{job}").get("pool") == "night")
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("its pool night is closed until")).to_be_visible()
    farm.request("POST", f"/v1/jobs/{job}/cancel")
    go(page, "#/workers")
    page.get_by_role("button", name="Remove hours of night").click()
    # The next check stops the coordinator.
    with page.expect_response(lambda reply: reply.request.method == "DELETE"):
        page.get_by_role("button", name="Remove them").click()
    eventually("it has no hours", lambda: farm.request("GET", "/v1/pools")["pools"] == [])
    expect(row).to_have_count(0)


def lost_coordinator(page, farm):
    """The page says that it is not connected and how old its data is, and finds the coordinator again."""
    farm.kill("coordinator")
    expect(page.get_by_role("status").first).to_have_text("Not connected")
    expect(page.get_by_role("alert")).to_contain_text("What is shown was true")
    farm.start_coordinator()
    expect(page.get_by_role("status").first).to_have_text("Live")
    expect(page.get_by_role("alert")).to_be_hidden()


def deletion(page, farm):
    """A job that has ended is deleted after a question."""
    job = next(job["job"] for job in farm.request("GET", "/v1/jobs")["jobs"] if job["state"] == "done")
    go(page, f"#/jobs/{job}")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete the job").click()
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
    expect(page.locator(f"a[href='#/jobs/{job}']")).to_have_count(0)


def access(page, farm):
    """A token is made, shown once, used and revoked, and the audit says so."""
    go(page, "#/access")
    page.get_by_label("Owner", exact=True).fill("anna")
    page.get_by_label("Role").select_option("submitter")
    page.get_by_role("button", name="Make a token").click()
    dialog = page.get_by_role("dialog")
    made = dialog.locator("input").input_value()
    assert re.fullmatch("sheaf_[0-9a-f]{64}", made), made
    dialog.get_by_role("button", name="I have it").click()
    eventually("the token is not shown any more", lambda: made not in page.content())
    row = page.locator("section[aria-label=Tokens] tbody tr", has_text="anna")
    assert "submitter" in row.inner_text() and "valid" in row.inner_text()

    def jobs():
        request = urllib.request.Request(f"{farm.address}/v1/jobs", headers={"Authorization": f"Bearer {made}"})
        try:
            with urllib.request.urlopen(request, timeout=10) as reply:
                return reply.status, json.load(reply)["jobs"]
        except urllib.error.HTTPError as error:
            return error.code, None

    assert jobs() == (200, [])
    row.get_by_role("button").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke it").click()
    eventually("the token is revoked", lambda: "revoked" in row.inner_text())
    assert jobs() == (401, None)
    audit = page.locator("section[aria-label=Audit] tbody")
    eventually("the audit has both", lambda: "tokenRevoked" in audit.inner_text() and "tokenCreated" in audit.inner_text())
    page.get_by_label("Which entries").select_option(label="Jobs")
    eventually("the audit has jobs alone", lambda: "token" not in audit.inner_text() and "jobSubmitted" in audit.inner_text())


def steering(page, farm):
    """A job is paused, has another priority, and is resumed; and an owner has another weight."""
    job = farm.request("POST", "/v1/jobs", {
        "document": {
            "sheaf": 1, "assets": {"a": {"color": "#204060"}}, "tracks": [{"clips": [{"asset": "a", "duration": 2}]}],
            "videoComposition": {"renderSize": [64, 36], "frameRate": 10}, "export": {"to": "held.mkv", "video": {"codec": "ffv1"}}},
        "name": "held", "isPaused": True})["job"]
    go(page, f"#/jobs/{job}")
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    expect(page.get_by_text("it is paused; to go on")).to_be_visible()
    page.get_by_role("button", name="Priority").click()
    page.get_by_role("dialog").get_by_role("spinbutton").fill("7")
    page.get_by_role("dialog").get_by_role("button", name="Change").click()
    eventually("the priority is 7", lambda: farm.request("GET", f"/v1/jobs/{job}")["priority"] == 7)
    page.get_by_role("button", name="Resume").click()
    eventually("the job is done", lambda: farm.request("GET", f"/v1/jobs/{job}")["state"] == "done")
    go(page, "#/access")
    row = page.locator("section[aria-label=Owners] tbody tr", has_text="own token")
    row.get_by_role("button").click()
    page.get_by_role("dialog").get_by_role("spinbutton").fill("2.5")
    page.get_by_role("dialog").get_by_role("button", name="Change").click()
    eventually("the weight is 2.5", lambda: "2.5" in row.inner_text())
    assert [owner["weight"] for owner in farm.request("GET", "/v1/owners")["owners"]] == [2.5]


ALL = [token, digests, mistakes, submission, film, trace, phases, critical_path, chosen_path, costs, marks,
       warnings, accessibility, measure_many_segments, measure_many_jobs, notification, actions, readings, watching, killed_worker, namesakes, holds, pools,
       lost_coordinator, access, steering, deletion]
