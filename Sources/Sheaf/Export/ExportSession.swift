import Client
import ContentStorage
import Digest
import FarmAPI
import FarmModel
public import FoundationEssentials
import LocalFarm
import Synchronization

/// Renders an edit to a file: AVFoundation's `AVAssetExportSession`. It runs on this machine or on a farm; the file is
/// the same, byte for byte.
///
///     let session = ExportSession(edit, to: url)
///     let export = Task { try await session.export() }
///     for await progress in session.progress { print(progress.fraction) }
///     let film = try await export.value
///
/// The file appears under its name when it is complete, and replaces an earlier one only then. An edit with several
/// outputs (`ExportSettings.outputs`) becomes several files, in a folder at the session's URL.
public final class ExportSession: Sendable {
  /// Where the work is done.
  public enum Place: Sendable {
    case local(LocalRenderer)
    case farm(Farm)

    /// In task processes on this machine.
    public static var thisMachine: Place { .local(LocalRenderer()) }
  }

  /// How far an export has come.
  public struct Progress: Sendable, Hashable {
    /// 0…1; never less than before, and 1 when the film is at its place.
    public var fraction: Double
    public var framesDone: Int
    /// 0 until the film is planned.
    public var framesTotal: Int
    public var phase: RenderPhase
    /// The mean since the first frame that this process has seen. Nil: not known yet, or the phase is not `.rendering`.
    public var framesPerSecond: Double?
    /// Until the film is there, as the farm expects it. Nil: nothing was measured yet, or the phase is another one.
    public var estimatedTimeRemaining: Duration?
  }

  /// A file at its place.
  public struct File: Sendable, Hashable {
    public var url: URL
    public var bytes: Int
    /// SHA-256 of the file, in hexadecimal digits.
    public var digest: String
  }

  /// A film at its place.
  public struct Film: Sendable, Hashable {
    /// The place of the file, or of the folder of several outputs.
    public var url: URL
    public var frames: Int
    /// The size of the file, or of the files of several outputs together.
    public var bytes: Int
    /// SHA-256 of the file, in hexadecimal digits. Of several outputs it identifies all files together; each has its
    /// own.
    public var digest: String
    /// The files of several outputs, in the order of the edit. Empty: the film is one file.
    public var outputs: [File]
    /// How many of its segments were rendered before.
    public var segmentsFromCache: Int
    public var segments: Int
    /// What is allowed in the edit but most likely not meant.
    public var warnings: [Edit.Problem]
    /// What of the media is not in the film, though the edit does not leave it out. Each is among the warnings too.
    public var losses: [LossReport] { warnings.losses }
  }

  public let edit: Edit
  public let url: URL
  public let place: Place
  /// Ends with the export. One task may read it.
  public let progress: AsyncStream<Progress>
  private let reports: AsyncStream<Progress>.Continuation
  private let state = Mutex(State())
  private let seen = JobProgress()

  private struct State {
    var task: Task<Film, any Error>?
    var isCancelled = false
  }

  /// - Parameters:
  ///   - edit: The session exports this value: later changes of the caller's have no effect.
  ///   - url: The film's place, whose extension selects the container; or the folder of several outputs, which is made
  ///     if it is not there.
  ///   - settings: In place of those of the edit.
  ///   - place: Where the work is done.
  public init(_ edit: Edit, to url: URL, settings: ExportSettings? = nil, on place: Place = .thisMachine) {
    self.edit = settings.map { edit.exported(with: $0) } ?? edit
    self.url = url
    self.place = place
    (progress, reports) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  deinit { reports.finish() }

  /// Renders the film. A session exports once. When the task or the session is cancelled it throws `.cancelled`, and
  /// there is no file, or the earlier one. Of several outputs, each file is the earlier one or the complete new one.
  public func export() async throws(SheafError) -> Film {
    let task: Task<Film, any Error> = try state.withLock { (state) throws(SheafError) in
      if state.task != nil { throw SheafError(.misuse, "a session exports once") }
      if state.isCancelled { throw SheafError(.cancelled, "cancelled") }
      let task = Task { try await run() }
      state.task = task
      return task
    }
    defer { reports.finish() }
    do {
      return try await withTaskCancellationHandler {
        try await task.value
      } onCancel: {
        task.cancel()
      }
    } catch {
      throw task.isCancelled ? SheafError(.cancelled, "cancelled") : SheafError(error)
    }
  }

  /// Ends the export. Without one, a later `export()` throws.
  public func cancel() {
    state.withLock { state in
      state.isCancelled = true
      state.task?.cancel()
    }
    reports.finish()
  }

  private func run() async throws -> Film {
    let path = url.path
    let file = try EditFile(edit, film: path)
    try file.checkOutput(path)
    let status: JobStatus
    let files: [ContentPackage.File]
    switch place {
    case .local(let renderer):
      let render = LocalRender(edit: file, output: path)
      let made = try await render.render(try renderer.configuration()) { [self] in report($0) }
      (status, files) = (made.status, made.files)
    case .farm(let farm):
      // What cannot be written is found before any work.
      let output = try FilmDestination(path, outputs: file.document.outputFiles)
      let job = try await farm.submit(file, as: path, over: path) { [self] _ in report(.uploading) }
      _ = try await farm.client.wait(for: job, cancelsJob: true) { [self] status in
        if status.state != .done { report(status) }
      }
      status = try await farm.client.fetch(job, into: output) { [self] _ in report(.fetching) }
      files = output.written
      report(status)
    }
    return Film(status, at: url, files)
  }

  private func report(_ status: JobStatus) { reports.yield(seen.show(status)) }

  private func report(_ phase: RenderPhase) {
    if let progress = seen.begin(phase) { reports.yield(progress) }
  }
}

extension ExportSession.Progress {
  /// Before anything is done.
  init(phase: RenderPhase) { self.init(fraction: 0, framesDone: 0, framesTotal: 0, phase: phase) }

  /// - Parameter earlier: The fraction is never less than before.
  init(_ shown: ProgressTracker.Shown, after earlier: Self) {
    let status = shown.status
    let total = status.framesTotal
    let done = min(total, status.framesDone)
    // The last part is the joining of the segments.
    let fraction = status.state == .done ? 1 : total == 0 ? 0 : Double(done) / Double(total) * 0.99
    let phase = RenderPhase(status.phase)
    self.init(
      fraction: max(earlier.fraction, fraction), framesDone: done, framesTotal: total, phase: phase,
      framesPerSecond: phase == .rendering ? shown.rate : nil,
      estimatedTimeRemaining: phase == .rendering ? shown.left.map { .seconds($0) } : nil)
  }
}

extension ExportSession.Film {
  /// - Parameter files: Those of several outputs that were written.
  init(_ status: JobStatus, at url: URL, _ files: [ContentPackage.File]) {
    let outputs = files.map { file in
      ExportSession.File(
        url: url.appendingPathComponent(file.name), bytes: Int(clamping: file.content.size),
        digest: file.content.digest.hex)
    }
    self.init(
      url: url, frames: status.framesTotal,
      bytes: outputs.isEmpty ? Int(clamping: status.output?.bytes ?? 0) : outputs.reduce(0) { $0 + $1.bytes },
      digest: status.output?.digest ?? "", outputs: outputs, segmentsFromCache: status.segmentsCached,
      segments: status.segmentsTotal, warnings: status.warnings)
  }
}
