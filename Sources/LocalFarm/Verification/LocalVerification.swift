package import Client
import CompositionModel
import ContentStorage
import Digest
import EditDocument
package import FarmAPI
import FarmModel
import Glibc
import Runtime
import SystemSupport

/// Renders a document again on this machine, with nothing that was rendered before, and compares the result with a
/// film.
package struct LocalVerification: Sendable {
  package enum Step: Sendable {
    case rendering(JobStatus)
    /// With the name of the file.
    case comparing(String)
  }

  /// How much is rendered again.
  package struct Part: Sendable, Hashable {
    /// 1 to 99.
    package var percent: Int
    package var seed: String

    package init(percent: Int, seed: String) { (self.percent, self.seed) = (percent, seed) }
  }

  private let edit: EditFile
  /// A file, the folder of several outputs, or a playlist, whose other files are beside it.
  private let film: String
  private let options: RenderOptions
  private let part: Part?
  private let folder: String
  private let slots: Int
  private let worker: String?

  /// - Parameters:
  ///   - part: Nil: all of the film is rendered again.
  ///   - folder: Where it is rendered to; a folder is made in it, and removed.
  ///   - slots: How many tasks run at once.
  ///   - worker: The worker's program. Nil: `sheaf-worker`.
  package init(
    edit: EditFile, film: String, options: RenderOptions, part: Part?, folder: String, slots: Int, worker: String?
  ) {
    (self.edit, self.film, self.options, self.part) = (edit, film, options, part)
    (self.folder, self.slots, self.worker) = (folder, slots, worker)
  }

  /// Throws if the film cannot be read, with every problem of the document and its media, and why it cannot be
  /// rendered.
  package func run(_ report: @escaping @Sendable (Step) -> Void) async throws -> FilmVerification {
    let start = ContinuousClock.now
    guard part == nil || !edit.document.hasPlaylist else {
      throw CommandFailure(
        .document, "the film is a playlist, whose files state where all segments are: leave --share out")
    }
    let named = try await BlockingWork.run { try paths.map { path throws(CommandFailure) in try VerifiedFile(path) } }
    let worker = try LocalWorker.find(worker)
    let place = try await BlockingWork.run { try VerificationFolder(in: folder) }
    defer { place.remove() }
    var configuration = try LocalFarm.Configuration(store: "\(place.path)/store", slots: slots)
    configuration.workerExecutable = worker
    let share = try await share(configuration)
    configuration.segments = share.map { Set($0.drawn.segments.map(\.number)) }
    let target = "\(place.path)/\(edit.document.hasOutputs ? "films" : named[0].name)"
    let made = try await LocalRender(edit: edit, output: target, options: options).render(configuration) { status in
      report(.rendering(status))
    }
    let hasFolder = edit.document.hasOutputs || edit.document.hasPlaylist
    // What the other files of a playlist are depends on the media, and is known now.
    let others = edit.document.hasPlaylist ? made.files.map(\.name).filter { $0 != named[0].name } : []
    let beside = FilmDestination.folder(of: film)
    let films =
      try await named
      + BlockingWork.run {
        try others.map { name throws(CommandFailure) in try VerifiedFile("\(beside)/\(name)") }
      }
    let renderedFolder = FilmDestination.folder(of: target)
    var compared: [FilmVerification.Film] = []
    for film in films {
      report(.comparing(film.name))
      let other = hasFolder ? "\(renderedFolder)/\(film.name)" : target
      compared.append(try await compare(film, with: other, share, worker: worker))
    }
    try await BlockingWork.run { for film in films { try film.checkUnchanged() } }
    let assets = try await edit.assets(configuration.contents).assets
    let nested = try await BlockingWork.run { try edit.nestedFiles() }
    let media = Set(assets.map(\.content.digest))
    return FilmVerification(
      document: FilmVerification.Source(name: edit.name, content: edit.written),
      resolvedDocument: SHA256Digest.of(edit.bytes),
      sources: assets.map { FilmVerification.Source(name: $0.path, content: $0.content) }
        + nested.map { FilmVerification.Source(name: $0.path, content: $0.content) },
      fonts: made.sources.filter { !media.contains($0.digest) }, films: compared, share: share?.drawn,
      build: made.status.build ?? "", slots: slots, seconds: (ContinuousClock.now - start) / .seconds(1))
  }

  private var paths: [String] {
    edit.document.hasOutputs ? edit.document.outputFiles.map { "\(film)/\($0)" } : [film]
  }

  /// Draws segments of the film as it is planned.
  private func share(_ configuration: LocalFarm.Configuration) async throws -> (
    drawn: FilmVerification.Share, plan: PlanReport
  )? {
    guard let part else { return nil }
    let (assets, missing) = try await edit.assets(configuration.contents)
    let output = edit.document.hasOutputs ? "" : film
    let inspection = LocalInspection(edit: edit, assets: assets, output: output, options: options)
    let reply = try await inspection.run(configuration)
    let problems = inspection.problems(reply, and: missing)
    guard problems.isEmpty, let plan = reply.plan else { throw CommandFailure(problems: problems) }
    guard !plan.segments.isEmpty else {
      throw CommandFailure(
        .document, "the film has no segments, because it is copied or has sound alone: leave --share out")
    }
    let containers = containers
    if let container = containers.first(where: \.isAnimatedImage) {
      throw CommandFailure(
        .document, "the pictures of \(container.rawValue) are stored as changes of each other: leave --share out")
    }
    let numbers = SegmentDraw.segments(percent: part.percent, of: plan.segments.count, seed: part.seed)
    let drawn = FilmVerification.Share(
      percent: part.percent, seed: part.seed, segmentCount: plan.segments.count,
      segments: numbers.map { ($0, plan.segments[$0].firstFrame..<plan.segments[$0].endFrame) },
      // MXF ends the sound with the pictures.
      hasSound: plan.audio != nil && !containers.contains(.mxf))
    return (drawn, plan)
  }

  /// Those of the films whose names have one.
  private var containers: [Container] { paths.compactMap { try? Container(path: $0) } }

  private func compare(
    _ film: VerifiedFile, with other: String, _ share: (drawn: FilmVerification.Share, plan: PlanReport)?,
    worker: String
  ) async throws -> FilmVerification.Film {
    let rendered = try await BlockingWork.run(.hashing) { try OpenFile.open(other).content() }
    let isIdentical = rendered == film.content
    // A playlist, a description or subtitles: a text, which is the same or is not.
    guard let container = try? Container(path: other), !container.isPlaylist else {
      var comparison = FilmComparison()
      if !isIdentical { comparison.problem = "its text is not that which was rendered again" }
      return FilmVerification.Film(
        name: film.name, content: film.content, rendered: rendered, comparison: comparison,
        result: isIdentical ? .identical : .different)
    }
    var request = ComparisonRequest(container: container)
    if let (drawn, plan) = share, !isIdentical, let video = plan.video {
      request.share = ComparisonRequest.Share(
        segments: drawn.segments.map(\.frames), frameCount: plan.frames, frameDuration: video.frameDuration,
        hasSound: drawn.hasSound)
    }
    let comparison = try await FilmComparisonProcess.compare(
      film.path, with: isIdentical ? nil : other, request, worker: worker)
    return FilmVerification.Film(
      name: film.name, content: film.content, rendered: rendered, comparison: comparison,
      result: isIdentical ? .identical : Self.result(comparison, isShare: request.share != nil))
  }

  /// Of films that are not the same bytes.
  private static func result(_ comparison: FilmComparison, isShare: Bool) -> FilmVerification.Result {
    guard comparison.isEqual else { return .different }
    let segments = comparison.tracks.compactMap(\.segments).joined()
    return isShare && segments.allSatisfy(\.hasEqualPackets) ? .sameShare : .sameContent
  }
}

/// A file that is verified, as it was when that began.
private struct VerifiedFile: Sendable {
  var path: String
  /// The last component of the path.
  var name: String
  var content: Content
  private var identity: FileIdentity

  /// Reads the whole file. Throws with exit code 65 if it cannot be read.
  init(_ path: String) throws(CommandFailure) {
    self.path = path
    name = String(path.split(separator: "/").last ?? "")
    do throws(SystemError) {
      let file = try OpenFile.open(path, O_RDONLY | O_NONBLOCK)
      identity = try FileIdentity(of: file)
      content = try file.content()
    } catch {
      throw CommandFailure(
        .document,
        error.isMissing
          ? "there is no film \(path)\(NearbyFile.hint(path))" : "the film \(path) cannot be read: \(error)")
    }
  }

  /// Throws with exit code 65 if the file is another one now.
  func checkUnchanged() throws(CommandFailure) {
    let now = try? FileIdentity(of: OpenFile.open(path, O_RDONLY | O_NONBLOCK))
    guard now == identity else {
      throw CommandFailure(.document, "the film \(path) has changed since the command began; run it again")
    }
  }
}
