import Client
import Foundation
import LocalFarm
import Sheaf
import TestPrograms
import Testing
import Wire

/// Two short films and a picture, and an edit of them.
struct SmallMedia {
  let folder: TemporaryFolder
  let renderer: LocalRenderer

  init() throws {
    folder = try TemporaryFolder()
    renderer = LocalRenderer(store: folder.url.appendingPathComponent("store"), slots: 2)
    let options = ["-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac"]
    for (name, source) in [("one", "testsrc"), ("two", "testsrc2")] {
      try Tool.ffmpeg(
        ["-f", "lavfi", "-i", "\(source)=s=160x90:r=25:d=3", "-f", "lavfi", "-i", "sine=f=440:r=48000:d=3"] + options
          + ["-metadata", "title=\(name)", folder.path("\(name).mp4")])
    }
    try Tool.ffmpeg("-f", "lavfi", "-i", "color=red:s=32x32", "-frames:v", "1", folder.path("logo.png"))
  }

  func url(_ name: String) -> URL { folder.url.appendingPathComponent(name) }
  func asset(_ name: String) -> Asset { Asset(url(name), renderer: renderer) }

  /// A dissolve from one film to the other, with a logo and a title, and music that becomes softer.
  func edit() async throws -> Edit {
    var edit = Edit()
    let loaded = try await renderer.load(["one.mp4", "two.mp4", "logo.png"].map(folder.path))
    let one = edit.add(try loaded[0].get())
    let two = edit.add(try loaded[1].get())
    let logo = edit.add(try loaded[2].get())
    let seconds = { (count: Int64) in MediaTime(seconds: count) }
    let (a, b) = (try edit.composition.addTrack(.video, id: "A"), try edit.composition.addTrack(.video, id: "B"))
    try edit.composition.editTrack(a) { track in
      try track.insert(one.range(from: .zero, to: seconds(2)))
    }
    try edit.composition.editTrack(b) { track in
      try track.insert(two.range(from: .zero, to: seconds(2)), at: seconds(1))
    }
    let sound = try edit.composition.addTrack(.audio)
    try edit.composition.editTrack(sound) { track in try track.insert(one.whole()) }
    let overlap = try MediaTimeRange(start: seconds(1), end: seconds(2))
    edit.videoComposition.transitions = [.init(from: a, to: b, timeRange: overlap)]
    edit.videoComposition.overlays = [
      .init(.image(logo.id), place: .anchor(.topRight, inset: .pixels(4))),
      .init(.text(StyledText(text: "Sheaf", size: 20)), place: .anchor(.bottom)),
    ]
    edit.audioMix.setVolumeRamp(of: sound, from: 1, to: 0.2, over: overlap)
    return edit
  }
}

/// Each needs the processor's cores.
@Suite(.ownThreads, .serialized) struct ExportTests {
  @Test func `instructions that are derived can be taken, and give the same film`() async throws {
    let media = try SmallMedia()
    var edit = try await media.edit()
    edit.export.video = .settings(.init(codec: .ffv1))
    edit.export.audio = .none
    var loaded: [AssetID: AssetDescription] = [:]
    for (id, path) in edit.assets { loaded[id] = try await Asset(path: path, renderer: media.renderer).contents }
    var taken = edit
    taken.videoComposition = try edit.videoComposition(with: loaded)
    #expect(taken.videoComposition.renderSize == PixelSize(width: 160, height: 90))
    #expect(taken.videoComposition.frameDuration == MediaTime(value: 1, timescale: 25))
    let instructions = try #require(taken.videoComposition.instructions)
    #expect(instructions.map(\.layers.count) == [1, 2, 1])
    #expect(instructions.map(\.timeRange.start) == [0, 1, 2].map { MediaTime(seconds: $0) })
    #expect(taken.videoComposition.overlays == edit.videoComposition.overlays)
    #expect(taken.videoComposition.transitions.isEmpty)
    func frames(_ edit: Edit, _ name: String) async throws -> [UInt8] {
      let film = try await ExportSession(edit, to: media.url(name), on: .local(media.renderer)).export()
      return try Array(Tool.ffmpeg("-i", film.url.path, "-f", "rawvideo", "-"))
    }
    let (first, second) = (try await frames(edit, "edit.mkv"), try await frames(taken, "taken.mkv"))
    #expect(first.count == 160 * 90 * 3 / 2 * 75 && second.count == first.count)
    // A dissolve rounds once, and an opacity too, in another order.
    #expect(zip(first, second).allSatisfy { abs(Int($0) - Int($1)) <= 1 })
    // And changed.
    try taken.videoComposition.instructions?[0].layers[0].setOpacity(0)
    let third = try await frames(taken, "changed.mkv")
    #expect(third[160 * 45..<160 * 45 + 60].allSatisfy { $0 == 16 } && third.suffix(10_000) == second.suffix(10_000))

    edit.videoComposition.transitions[0].style = TransitionStyle(.wipe(.left, softness: 0))
    let wiped = edit
    let error = #expect(throws: SheafError.self) { try wiped.videoComposition(with: loaded) }
    #expect(error?.code == .misuse && error?.message.contains("'A' to 'B'") == true)
  }

  @Test func `a load that is cancelled ends, and others go on`() async throws {
    let media = try SmallMedia()
    let asset = media.asset("one.mp4")
    let cancelled = Task { try await asset.load(.duration) }
    let other = Task { try await asset.load(.tracks) }
    cancelled.cancel()
    await #expect(throws: SheafError(.cancelled, "cancelled")) { try await cancelled.value }
    #expect(try await other.value.count == 2)

    // A probe for which nobody waits any more is begun again.
    let again = media.asset("two.mp4")
    let alone = Task { try await again.load(.duration) }
    while case .notYetLoaded = again.status(of: .duration) { await Task.yield() }
    alone.cancel()
    await #expect(throws: SheafError(.cancelled, "cancelled")) { try await alone.value }
    guard case .notYetLoaded = again.status(of: .duration) else {
      Issue.record("the cancelled load has left \(again.status(of: .duration))")
      return
    }
    #expect(try await again.load(.duration) == MediaTime(seconds: 3))
  }

  @Test func `each property of an asset is loaded or fails by itself`() async throws {
    let media = try SmallMedia()
    let asset = media.asset("one.mp4")
    guard case .notYetLoaded = asset.status(of: .duration) else {
      Issue.record("loaded before it was asked for")
      return
    }
    let (duration, tracks, metadata) = try await asset.load(.duration, .tracks, .metadata)
    #expect(duration == MediaTime(seconds: 3))
    #expect(tracks.map(\.type) == [.video, .audio])
    #expect(metadata["title"] == "one")
    #expect(try await asset.load(.commonMetadata)[.title] == "one")
    #expect(try await asset.load(.presentationSize) == PixelSize(width: 160, height: 90))
    guard case .loaded(MediaTime(seconds: 3)) = asset.status(of: .duration) else {
      Issue.record("not loaded")
      return
    }
    try "TITLE \"x\"\nLUT_1D_SIZE 2\n0 0 0\n1 1 1\n".write(
      to: media.url("look.cube"), atomically: true, encoding: .utf8)
    let table = media.asset("look.cube")
    #expect(try await table.load(.metadata) == [:])
    await #expect(throws: SheafError.self) { try await table.load(.duration) }
    let both = try await media.renderer.load([media.folder.path("missing.mp4"), media.folder.path("two.mp4")])
    #expect(try both[1].get().contents.duration == MediaTime(seconds: 3))
    guard case .failure(let error) = both[0] else {
      Issue.record("a file that is not there was loaded")
      return
    }
    #expect(error.code == .invalidMedia)
    #expect(error.message.contains("there is no file"))
  }

  @Test func `a film of one machine is that of a farm, byte for byte`() async throws {
    let media = try SmallMedia()
    let edit = try await media.edit()
    #expect(try await media.renderer.check(edit, output: media.url("film.mp4")) == [])
    let nowhere = try await media.renderer.check(edit, output: media.url("nowhere/film.mp4"))
    #expect(nowhere.count == 1 && nowhere.first?.message.contains("does not exist") == true, "\(nowhere)")
    // The output's container decides what a quality may be.
    var web = edit
    (web.export.path, web.export.video) = (media.url("film.mp4").path, .settings(.init(quality: 60)))
    #expect(try await media.renderer.check(web, output: media.url("film.webm")) == [])
    #expect(try await media.renderer.check(web).map(\.pointer) == ["/export/video/quality"])
    let session = ExportSession(
      edit, to: media.url("film.mp4"), settings: ExportSettings(video: .settings(.init(codec: .h264, quality: 25))),
      on: .local(media.renderer))
    let export = Task { try await session.export() }
    var fractions: [Double] = []
    var phases: [RenderPhase] = []
    for await progress in session.progress {
      fractions.append(progress.fraction)
      if phases.last != progress.phase { phases.append(progress.phase) }
    }
    let film = try await export.value
    #expect(fractions == fractions.sorted())
    #expect(fractions.last == 1)
    // Those that last too short are not seen.
    let order: [RenderPhase] = [.probing, .planning, .rendering, .mixing, .stitching, .ended]
    #expect(phases.last == .ended && phases == order.filter(phases.contains), "\(phases)")
    #expect(film.frames == 75)
    #expect(film.warnings == [])
    let stream = try Tool.ffprobe(
      "-count_frames", "-select_streams", "v", "-show_entries", "stream=width,height,nb_read_frames",
      film.url.path)
    #expect(stream == [["160", "90", "75"]])
    await #expect(throws: SheafError(.misuse, "a session exports once")) { try await session.export() }

    // Another store, so that nothing is rendered before.
    var configuration = try LocalFarm.Configuration(store: media.folder.path("farm"), slots: 2)
    configuration.workerExecutable = try LocalWorker.find()
    try await LocalFarm.run(configuration) { local in
      let address = local.endpoint.addresses[0]
      let farm = Farm(host: address.host, port: address.port, token: local.endpoint.token)
      let edit = session.edit
      let job = try await farm.submit(edit, as: "film.mp4")
      let ended = try await farm.wait(for: job)
      #expect(ended.state == .done)
      #expect(ended.progress.fraction == 1)
      #expect(try await farm.status(of: job).state == .done)
      await #expect(throws: SheafError(.failed, "the name of the job is empty")) {
        try await farm.status(of: Farm.Job(id: ""))
      }
      let fetched = try await farm.fetch(job, to: media.url("fetched.mp4"))
      #expect(fetched.digest == film.digest)
      let again = try await ExportSession(edit, to: media.url("again.mp4"), on: .farm(farm)).export()
      #expect(again.segmentsFromCache == again.segments)
      try await manageJobs(of: farm, job)
    }
    let bytes = try Data(contentsOf: film.url)
    #expect(try Data(contentsOf: media.url("fetched.mp4")) == bytes)
    #expect(try Data(contentsOf: media.url("again.mp4")) == bytes)
  }

  /// - Parameter job: One of two jobs of the farm that are done.
  private func manageJobs(of farm: Farm, _ job: Farm.Job) async throws {
    let workers = try await farm.workers()
    #expect(workers.count == 1 && workers[0].slots == 2 && workers[0].paused.isEmpty)
    #expect(workers[0].connected.map { abs($0.timeIntervalSinceNow) < 600 } == true)

    var all: [Farm.JobStatus] = []
    for try await status in farm.jobs() { all.append(status) }
    #expect(all.count == 2 && all[1].job == job && all.allSatisfy { $0.state == .done && $0.progress.phase == .ended })
    let times = try all.map { try #require($0.submitted) }
    #expect(times[1] < times[0] && all.allSatisfy { ($0.ended ?? .distantPast) >= ($0.submitted ?? .distantFuture) })
    #expect(try await farm.status(of: job).submitted == times[1])
    func list(_ filter: Farm.JobFilter) async throws -> [Farm.Job] {
      try await farm.jobs(filter, pageSize: 1).reduce(into: []) { $0.append($1.job) }
    }
    #expect(try await list(.init()) == all.map(\.job))
    #expect(try await list(.init(submittedBefore: times[0])) == [job])
    #expect(try await list(.init(submittedSince: times[0])) == [all[0].job])
    let part = String(all[0].name.dropFirst())
    let named = all.filter { $0.name.lowercased().contains(part.lowercased()) }.map(\.job)
    #expect(try await list(.init(states: [.done], name: part.uppercased())) == named)
    #expect(try await list(.init(states: [.failed, .probing])) == [])
    #expect(try await list(.init(states: [.unknown])) == [])

    await #expect(throws: SheafError.self) { try await farm.retry(job) }
    await #expect(throws: SheafError(.failed, "there is no job none")) { try await farm.delete(.init(id: "none")) }
    await #expect(throws: SheafError.self) { for try await _ in farm.statuses(of: .init(id: "none")) {} }
    for try await status in farm.statuses(of: job) {
      let left = status.progress.estimatedTimeRemaining.map { "\($0) left" } ?? ""
      print(status.progress.phase, status.progress.fraction, left)
    }
    let weekAgo = Date.now.addingTimeInterval(-7 * 86_400)
    for try await status in farm.jobs(.init(states: [.failed, .cancelled], submittedBefore: weekAgo)) {
      try await farm.delete(status.job)
    }
    // Each is deleted before the next one is asked for.
    for try await status in farm.jobs(pageSize: 1) { try await farm.delete(status.job) }
    #expect(try await list(.init()) == [])
  }

  /// An edit of three files: two renditions and the sound alone.
  private func ladder(_ media: SmallMedia) async throws -> Edit {
    var edit = try await media.edit()
    edit.export.video = .settings(.init(codec: .h264, quality: 25, keyframeInterval: 50))
    edit.export.outputs = [
      .init(name: "high", container: .mp4),
      .init(name: "low", container: .mov, size: .height(46), video: .settings(.init(quality: 28))),
      .init(name: "sound", container: .m4a, video: .none),
    ]
    return edit
  }

  private func contents(_ folder: URL) throws -> [String: Data] {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    return try Dictionary(
      uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: folder.appendingPathComponent($0))) })
  }

  @Test func `several outputs are those that the command writes, wherever they are rendered`() async throws {
    let media = try SmallMedia()
    let edit = try await ladder(media)
    #expect(try await media.renderer.check(edit, output: media.url("films")) == [])
    let folder = media.url("new/films")
    let film = try await ExportSession(edit, to: folder, on: .local(media.renderer)).export()
    #expect(film.url == folder && film.frames == 75)
    let files = try contents(folder)
    #expect(files.keys.sorted() == ["high.mp4", "low.mov", "sound.m4a"])
    #expect(film.outputs.map(\.url.lastPathComponent) == ["high.mp4", "low.mov", "sound.m4a"])
    #expect(film.outputs.map(\.bytes) == film.outputs.map { files[$0.url.lastPathComponent]?.count ?? 0 })
    #expect(film.bytes == files.values.reduce(0) { $0 + $1.count })
    for file in film.outputs {
      let sum = try Tool.run("sha256sum", [file.url.path]).output
      #expect(String(decoding: sum.prefix(64), as: UTF8.self) == file.digest)
    }
    let sizes = try Tool.ffprobe(
      "-select_streams", "v", "-show_entries", "stream=width,height", film.outputs[1].url.path)
    #expect(sizes == [["82", "46"]])

    try Data(edit.document()).write(to: media.url("edit.json"))
    let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    _ = try Tool.run(
      products.appendingPathComponent("sheaf").path,
      [
        "render", media.folder.path("edit.json"), "-o", media.folder.path("command"), "--store",
        media.folder.path("other"),
      ])
    #expect(try contents(media.url("command")) == files)

    var configuration = try LocalFarm.Configuration(store: media.folder.path("farm"), slots: 2)
    configuration.workerExecutable = try LocalWorker.find()
    try await LocalFarm.run(configuration) { local in
      let address = local.endpoint.addresses[0]
      let farm = Farm(host: address.host, port: address.port, token: local.endpoint.token)
      let job = try await farm.submit(edit, as: "any.name")
      #expect(try await farm.wait(for: job).state == .done)
      let fetched = try await farm.fetch(job, to: media.url("fetched"))
      #expect(fetched.outputs.map(\.digest) == film.outputs.map(\.digest))
      let again = try await ExportSession(edit, to: media.url("again"), on: .farm(farm)).export()
      #expect(again.outputs.map(\.digest) == film.outputs.map(\.digest))
      #expect(again.segmentsFromCache == again.segments)
      // A file where the folder should be.
      await #expect(throws: SheafError.self) { try await farm.fetch(job, to: media.url("edit.json")) }
      // Of a pool that no worker has.
      let waiting = try await farm.submit(edit, pool: "gpu")
      #expect(try await farm.status(of: waiting).pool == "gpu")
      _ = try await farm.cancel(waiting)
    }
    #expect(try contents(media.url("fetched")) == files)
    #expect(try contents(media.url("again")) == files)

    // An output that would replace an asset of the edit.
    var clash = edit
    clash.export.outputs[0].name = "one"
    await #expect {
      try await ExportSession(clash, to: media.folder.url, on: .local(media.renderer)).export()
    } throws: { error in
      (error as? SheafError)?.problems.map(\.pointer) == ["/assets/one"]
    }
    var wrong = edit
    (wrong.export.outputs[1].size, wrong.export.outputs[2].name) = (.height(45), "high")
    let problems = try await media.renderer.check(wrong)
    #expect(problems.map(\.pointer) == ["/export/outputs/2/name", "/export/outputs/1/height"])
    let loaded = try await media.renderer.load(["one.mp4", "two.mp4", "logo.png"].map(media.folder.path))
    let described = try Dictionary(
      uniqueKeysWithValues: zip(["one", "two", "logo"], loaded.map { try $0.get().contents }))
    #expect(wrong.validate(against: described) == problems)
  }

  @Test func `the reader of a composition with several outputs has its pictures and its sound`() async throws {
    let media = try SmallMedia()
    var edit = try await ladder(media)
    edit.export.outputs[0].audio = .none
    let reader = try await CompositionReader(edit, renderer: media.renderer)
    #expect(reader.renderSize == PixelSize(width: 160, height: 90))
    var (pictures, samples) = (0, 0)
    for try await picture in try reader.pictures() {
      #expect(picture.buffer.size == PixelSize(width: 160, height: 90))
      pictures += 1
    }
    for try await sample in try reader.sound() { samples += sample.count }
    #expect(pictures == 75 && samples == 132_300)
  }

  /// Cancels an export at the first progress that is the moment for it, and waits for its end.
  private func cancel(_ session: ExportSession, at isMoment: (ExportSession.Progress) -> Bool) async {
    let export = Task { try await session.export() }
    for await progress in session.progress where isMoment(progress) {
      session.cancel()
      break
    }
    await #expect {
      try await export.value
    } throws: { error in
      (error as? SheafError)?.code == .cancelled
    }
  }

  @Test func `a cancelled export of several outputs leaves the earlier files and no half ones`() async throws {
    let media = try SmallMedia()
    let edit = try await ladder(media)
    let folder = media.url("films")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data("earlier".utf8).write(to: folder.appendingPathComponent("low.mov"))
    let before = try contents(folder)
    let others = try FileManager.default.contentsOfDirectory(atPath: media.folder.url.path).sorted()
    // The film is planned, and its segments are rendered.
    await cancel(ExportSession(edit, to: folder, on: .local(media.renderer))) { $0.framesTotal > 0 }
    #expect(try contents(folder) == before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: media.folder.url.path).sorted() == others)
    // What was rendered before the end is used, and the files are those of an export that nothing ended.
    let again = try await ExportSession(edit, to: folder, on: .local(media.renderer)).export()
    let fresh = LocalRenderer(store: media.url("fresh"), slots: 1)
    let expected = try await ExportSession(edit, to: media.url("expected"), on: .local(fresh)).export()
    #expect(again.outputs.map(\.digest) == expected.outputs.map(\.digest))
    #expect(try contents(folder) == contents(media.url("expected")))
    #expect(try contents(folder).count == 3)
  }

  @Test func `a cancelled export leaves the earlier file and no half one`() async throws {
    let media = try SmallMedia()
    let edit = try await media.edit()
    let url = media.url("film.mkv")
    try Data("earlier".utf8).write(to: url)
    let before = try FileManager.default.contentsOfDirectory(atPath: media.folder.url.path).sorted()
    await cancel(ExportSession(edit, to: url, on: .local(media.renderer))) { _ in true }
    #expect(try FileManager.default.contentsOfDirectory(atPath: media.folder.url.path).sorted() == before)
    #expect(try Data(contentsOf: url) == Data("earlier".utf8))
  }

  @Test func `an export of which a file is removed ends with its name`() async throws {
    let media = try SmallMedia()
    try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=s=640x360:r=25:d=4", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset",
      "ultrafast", "-g", "25", media.folder.path("short.mp4"))
    try Tool.ffmpeg(
      "-stream_loop", "14", "-i", media.folder.path("short.mp4"), "-c", "copy", media.folder.path("long.mp4"))
    var edit = Edit()
    try edit.composition.insert(edit.add(try await media.asset("long.mp4").load()).whole())
    // So slow that most of it is not rendered yet when the file is removed.
    edit.export.video = .settings(.init(codec: .h264, preset: "veryslow"))
    let session = ExportSession(edit, to: media.url("film.mp4"), on: .local(media.renderer))
    let export = Task { try await session.export() }
    for await progress in session.progress where progress.framesTotal > 0 {
      try FileManager.default.removeItem(at: media.url("long.mp4"))
      break
    }
    await #expect {
      try await export.value
    } throws: { error in
      (error as? SheafError)?.problems.map(\.pointer) == ["/assets/long"]
    }
    #expect(!FileManager.default.fileExists(atPath: media.folder.path("film.mp4")))
  }

  @Test func `the problems of an export are those of a check`() async throws {
    let media = try SmallMedia()
    var edit = try await media.edit()
    edit.videoComposition.transitions[0].to = "C"
    edit.audioMix.inputParameters["nobody"] = .init()
    let problems = try await media.renderer.check(edit, output: media.url("film.mp4"))
    #expect(problems.map(\.pointer).sorted() == ["/audioMix/nobody", "/videoComposition/transitions/0/to"])
    await #expect {
      try await ExportSession(edit, to: media.url("film.mp4"), on: .local(media.renderer)).export()
    } throws: { error in
      (error as? SheafError)?.problems == problems
    }
    edit = try await media.edit()
    await #expect {
      try await ExportSession(edit, to: media.url("film.doc"), on: .local(media.renderer)).export()
    } throws: { error in
      (error as? SheafError)?.code == .invalidEdit
    }
    await #expect {
      let nowhere = Farm(host: "127.0.0.1", port: 1)
      _ = try await nowhere.status(of: Farm.Job(id: "1"))
    } throws: { error in
      (error as? SheafError)?.code == .unavailable
    }
  }
}
