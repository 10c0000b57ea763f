import Client
import FarmAPI
import FarmModel
import Testing

@testable import SheafCLI

struct ProgressTests {
  private let rendering = JobStatus.with {
    $0.state = .rendering
    $0.framesDone = 1234
    $0.framesTotal = 2750
    $0.segmentsDone = 12
    $0.segmentsTotal = 30
    $0.segmentsCached = 3
  }

  @Test func `every state has its line`() {
    var status = rendering
    #expect(
      ProgressLine.plain(status, rate: 23.44, left: 64.7)
        == "rendering: 1234/2750 frames, 23.4 frames/s, 1:05 left, 12/30 segments (3 from the cache)")
    status.wait = .noWorker
    #expect(ProgressLine.plain(status).hasSuffix("; it waits: no worker is connected"))
    status.state = .probing
    (status.filesDone, status.filesTotal) = (0, 5)
    #expect(ProgressLine.plain(status) == "probing media: 0 of 5 files; it waits: no worker is connected")
    status.wait = JobWait(.probing, "0 of 5 files probed")
    #expect(ProgressLine.plain(status) == "probing media: 0 of 5 files")
    status.state = .measuring
    (status.measuredDone, status.measuredTotal, status.wait) = (3, 12, nil)
    #expect(ProgressLine.plain(status) == "measuring: measured 3 of 12 parts")
    #expect(ProgressLine.bar(status, rate: nil, width: 80) == "measuring: measured 3 of 12 parts")
    status.state = .done
    status.elapsedSeconds = 4.21
    #expect(ProgressLine.plain(status) == "done: 2750 frames, 30 segments (3 from the cache), 4.2 s")
    #expect(ProgressLine.plain(status, film: "out/film.mov").hasPrefix("done: out/film.mov, 2750 frames"))
    let short = JobStatus.with {
      ($0.state, $0.framesTotal, $0.segmentsTotal, $0.elapsedSeconds) = (.done, 1, 1, 4.21)
    }
    #expect(ProgressLine.plain(short) == "done: 1 frame, 1 segment, 4.2 s")
    var sound = JobStatus.with {
      ($0.state, $0.hasAudio, $0.elapsedSeconds) = (.done, true, 4.21)
    }
    #expect(ProgressLine.plain(sound, film: "song.m4a") == "done: song.m4a, 4.2 s")
    sound.state = .rendering
    #expect(ProgressLine.plain(sound) == "rendering")
    for (state, text) in [(JobState.failed, "failed"), (.cancelled, "cancelled")] {
      status.state = state
      #expect(ProgressLine.plain(status) == text)
    }
  }

  @Test func `after the frames, the step is named`() {
    var status = rendering
    #expect(ProgressLine.step(status) == nil)
    status.framesDone = 2750
    #expect(ProgressLine.step(status) == "finishing the last segments")
    status.segmentsDone = 30
    status.hasAudio = true
    #expect(ProgressLine.step(status) == "mixing the audio")
    status.audioDone = true
    #expect(ProgressLine.step(status) == "stitching")
    #expect(ProgressLine.bar(status, rate: nil, width: 80).contains("100 %  stitching"))
  }

  @Test func `the bar fits every width`() {
    #expect(
      ProgressLine.bar(rendering, rate: 23.44, left: 64.7, width: 80)
        == "[###############....................] 44 %  1:05 left  1234/2750 frames  23.4/s")
    #expect(
      ProgressLine.bar(rendering, rate: 23.44, left: 64.7, width: 40) == "[#########............] 44 %  1:05 left")
    #expect(ProgressLine.bar(rendering, rate: 23.44, left: 64.7, width: 20) == "[#####.......] 44 %")
    for width in 1...200 {
      let line = ProgressLine.bar(rendering, rate: 23.44, left: 64.7, width: width)
      #expect(line.displayWidth <= max(1, width - 1), "\(width): \(line)")
    }
  }

  @Test func `transfers have bytes and a rate`() {
    let transfer = TransferProgress(.upload, name: "beach.mov", done: 512_000_000, total: 2_048_000_000)
    #expect(
      ProgressLine.plain(transfer, rate: 12_345_678) == "uploading beach.mov: 512.0 MB of 2.0 GB, 12.3 MB/s")
    #expect(
      ProgressLine.bar(transfer, rate: 12_345_678, width: 80)
        == "[#####...............] 25 %  uploading beach.mov  512.0 MB of 2.0 GB  12.3 MB/s")
    #expect(ProgressLine.bar(transfer, rate: nil, width: 40).displayWidth <= 39)
    let fetch = TransferProgress(.download, name: "film.mov", done: 5, total: 5)
    #expect(ProgressLine.plain(fetch, rate: nil) == "fetching film.mov: 5 bytes of 5 bytes")
  }

  @Test func `lines are written for news and not for every frame`() {
    var filter = LineFilter()
    let statuses: [(done: Int, key: [String], second: Int)] = [
      (0, ["rendering"], 0), (9, ["rendering"], 1), (10, ["rendering"], 1), (11, ["rendering", "the disk is full"], 2),
      (12, ["rendering", "the disk is full"], 6), (12, ["rendering", "the disk is full"], 7),
    ]
    let passed = statuses.map { filter.passes($0.done, of: 100, key: $0.key, at: .seconds($0.second)) }
    #expect(passed == [true, false, true, true, false, true])
  }

  @Test func `painted lines are replaced as a whole`() {
    var painted = PaintedLines()
    let sequences = [["one", "two\n"], ["three"], [], []].map { painted.sequence($0) }
    #expect(sequences == ["one\ntwo ", "\r\u{1B}[1A\u{1B}[Jthree", "\r\u{1B}[J", ""])
  }

  @Test func `a terminal shows what a job waits for`() {
    var status = rendering
    status.wait = JobWait(.noSlot, "no worker has a free slot")
    status.notices = ["the coordinator's disk is full"]
    let lines = ProgressReport.lines(.init(status: status), width: 30)
    #expect(lines.count == 3 && lines.allSatisfy { $0.displayWidth < 30 }, "\(lines)")
    #expect(lines[1] == "waits: no worker has a free …")
  }

  @Test func `what has changed among the jobs is listed`() {
    var watch = JobListWatch()
    var found = JobList()
    found.jobs = [JobStatus(job: "a", state: .rendering), JobStatus(job: "b", state: .done)]
    var change = watch.update(found)
    #expect(change.isNew && !change.haveEnded && change.changed.map(\.job) == ["a", "b"])
    found.jobs[0].elapsedSeconds = 7
    found.jobs[1].notices = ["the coordinator's disk is full"]
    change = watch.update(found)
    #expect(!change.isNew && change.changed.isEmpty)
    found.jobs[0].state = .done
    change = watch.update(found)
    #expect(change.isNew && change.haveEnded && change.changed.map(\.job) == ["a"])
  }
}

struct MeasureTests {
  @Test func `quantities are written for people`() {
    #expect(
      [0, 59.999, 60, 3599, 3600, 172_799, 172_800].map(Measure.age) == [
        "0 s", "59 s", "1 min", "59 min", "1 h", "47 h", "2 d",
      ])
    #expect([0, 4.21, 65, 3723].map(Measure.duration) == ["0.0 s", "4.2 s", "1:05 min", "1:02:03 h"])
    #expect(
      [0, 1, 999, 1000, 999_960, 12_345_678, 5_000_000_000_000].map { Measure.bytes($0) } == [
        "0 bytes", "1 byte", "999 bytes", "1.0 kB", "1.0 MB", "12.3 MB", "5.0 TB",
      ])
    #expect(Measure.percent(999, of: 1000) == 99 && Measure.percent(5, of: 5) == 100 && Measure.percent(0, of: 0) == 0)
  }

  @Test func `a column is cut by what a terminal shows`() {
    #expect("日本語".displayWidth == 6 && "e\u{301}".displayWidth == 1)
    #expect("日本語".shortened(to: 5) == "日本…" && "日本語".shortened(to: 6) == "日本語")
    #expect("abc".shortened(to: 0) == "")
  }
}
