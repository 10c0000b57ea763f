import CompositionModel
import Digest
import FarmModel
import FoundationEssentials
import Glibc
import Media
import RenderTasks
import Renderer
import SheafCompositing
import Stitcher
import SystemSupport

/// Runs the task of a payload in the calling thread.
struct TaskRunner {
  struct Input {
    /// Nil if the agent sent none; only probing does without.
    var digest: SHA256Digest?
    /// What messages call the file.
    var name: String
    var source: any ByteSource
  }

  let inputs: [Input]
  /// Opened for reading and writing; empty.
  let output: OpenFile
  /// Whether the task is done, and the one input is the film that it made, which is to be checked.
  var checksFilm = false
  var compositors = CompositorRegistry.none

  /// - Parameters:
  ///   - liveness: Advanced with every step of the task.
  ///   - progress: Called with the frames, samples or bytes done.
  /// - Returns: The damaged media that the result shows.
  func run(_ payload: Data, liveness: Liveness, progress: (Int64) -> Void) throws(TaskFailure) -> ShownDamage {
    let task: TaskPayload
    do {
      task = try JSONDecoder().decode(TaskPayload.self, from: payload)
    } catch {
      throw TaskFailure(.document, "the task cannot be read by this version of the worker: \(error)")
    }
    do {
      if checksFilm {
        try checkFilm(task, liveness)
        return ShownDamage()
      }
      switch task {
      case .probe: try probe(liveness)
      case .fonts(let task): try FontFinder.find(task, inputs: sources, to: output, liveness: liveness)
      case .compositors(let task):
        let problems = compositors.problems(with: task.compositors, size: task.size)
        try writeJSON(CompositorFindings(problems: problems), of: "what was found for the compositors")
      case .motion(let task):
        let motion = try MotionMeter.measure(task, inputs: sources, liveness: liveness, progress: progress)
        try writeJSON(motion, of: "the motion of the camera")
      case .images(let task):
        try ImageRenderer.render(
          task, inputs: sources, compositors: compositors, to: output, liveness: liveness, progress: progress)
      case .measure(let task):
        let measurements = try SegmentMeter.measure(
          task, inputs: sources, compositors: compositors, liveness: liveness, progress: progress)
        try writeJSON(measurements, of: "the measurements")
      case .video(let task):
        return try VideoRenderer.render(
          task, inputs: sources, compositors: compositors, to: output.descriptor, liveness: liveness,
          progress: progress)
      case .audio(let task):
        return try AudioRenderer.render(
          task, inputs: sources, to: output.descriptor, liveness: liveness, progress: progress)
      case .passthrough(let task):
        return try CopiedFilm.copy(
          task, inputs: sources, to: output.descriptor, liveness: liveness, progress: progress)
      case .stitch(let task):
        return try OutputStitcher.stitch(
          task, inputs: inputs.map(\.source), to: output.descriptor, liveness: liveness, progress: progress)
      }
    } catch let failure as TaskFailure {
      throw failure
    } catch let error as RenderError {
      throw TaskFailure(error)
    } catch let error as StitchError {
      throw TaskFailure(error)
    } catch {
      throw TaskFailure(.media, "\(error)")
    }
    return ShownDamage()
  }

  /// By digest, as the renderers look them up.
  private var sources: [String: any ByteSource] {
    Dictionary(inputs.map { ($0.digest?.hex ?? "", $0.source) }) { first, _ in first }
  }

  private func checkFilm(_ task: TaskPayload, _ liveness: Liveness) throws {
    guard let film = inputs.first?.source, inputs.count == 1 else {
      throw TaskFailure(.document, "the check of a film has one input, not \(inputs.count)")
    }
    switch task {
    case .stitch(let task): try FilmInspection.check(task, film: film, liveness: liveness)
    case .passthrough(let task): try FilmInspection.check(task, film: film, liveness: liveness)
    default: throw TaskFailure(.document, "the task makes no film")
    }
  }

  private func probe(_ liveness: Liveness) throws(TaskFailure) {
    guard let input = inputs.first, inputs.count == 1 else {
      throw TaskFailure(.document, "a probe task has one input, not \(inputs.count)")
    }
    let description: AssetDescription
    do {
      description =
        try FontProbe.probe(input.source, name: input.name)
        ?? AssetProbe.probe(input.source, name: input.name, liveness: liveness)
    } catch let error as MediaError {
      throw TaskFailure(probing: error)
    } catch let error as RenderError {
      guard case .media(let error) = error.code else { throw TaskFailure(error) }
      throw TaskFailure(probing: error)
    } catch {
      throw TaskFailure(.media, "\(error)")
    }
    let json = try encoded(description, of: "the description of \(input.name)")
    // What no description may have is said of the file, and is not held against the worker when it is read.
    do { _ = try JSONDecoder().decode(AssetDescription.self, from: json) } catch let error as DecodingError {
      throw TaskFailure(
        probing: MediaError(
          .damaged, operation: "probing", subject: input.name, message: "it states what is out of range: \(error.place)"
        ))
    } catch {
      throw TaskFailure(.media, "the description of \(input.name) cannot be decoded: \(error)")
    }
    try write(json)
  }

  private func writeJSON(_ result: some Encodable, of subject: String) throws(TaskFailure) {
    try write(try encoded(result, of: subject))
  }

  private func encoded(_ result: some Encodable, of subject: String) throws(TaskFailure) -> Data {
    do {
      return try JSONCoding.encoder.encode(result)
    } catch {
      throw TaskFailure(.media, "\(subject) cannot be encoded: \(error)")
    }
  }

  private func write(_ json: Data) throws(TaskFailure) {
    do {
      try output.write([UInt8](json))
    } catch {
      throw TaskFailure(.released, "the result cannot be written: \(error)")
    }
  }
}

// MARK: - Which end an error is

extension AttemptEnd {
  fileprivate init(_ error: MediaError) {
    self =
      switch error.code {
      case .io, .outOfSpace: .released
      case .outOfMemory: .exhausted
      case .unrecognized, .unsupported, .damaged, .noTrack, .tooLarge, .invalidPiece: .media
      case .invalidRequest: .document
      }
  }
}

extension TaskFailure {
  /// Another worker would find the same in the file: a failure that the media cause fails the job.
  fileprivate init(probing error: MediaError) {
    let end = AttemptEnd(error)
    self.init(end == .media ? .document : end, error.description)
  }

  fileprivate init(_ error: RenderError) {
    let end: AttemptEnd =
      switch error.code {
      case .media(let error): AttemptEnd(error)
      case .infrastructure: .released
      case .task: .document
      }
    self.init(end, error.description)
  }

  fileprivate init(_ error: StitchError) {
    let end: AttemptEnd =
      switch error.code {
      case .piece, .output: .media
      case .media(let error): AttemptEnd(error)
      case .infrastructure: .released
      case .task: .document
      }
    self.init(end, error.description)
    // What cannot be read for now is no fault of the piece.
    if end == .media { refusedInput = error.piece }
  }
}
