import CompositionModel
import ContentStorage
import Digest
import FarmModel
import FoundationEssentials
import Jobs
import RenderTasks
import Segmenter
import SystemSupport

/// Makes the tasks of a plan: each with what it does, the files that it reads, its fingerprint, and its result if that
/// is known.
struct TaskMaker {
  private let build: String
  private let labels: TaskLabel
  /// By digest, in hexadecimal.
  private let files: [String: Content]
  private let result: (SHA256Digest) -> KnownResult?

  /// - Parameters:
  ///   - fonts: The fonts of the document's texts.
  ///   - result: What a task with this fingerprint produced before, if that is still available.
  init(
    _ request: JobRequest, fonts: FoundFonts, build: String, result: @escaping (SHA256Digest) -> KnownResult?
  ) throws {
    self.build = build
    self.result = result
    labels = TaskLabel(request)
    files = Dictionary(try (request.files() + fonts.files).map { ($0.digest.hex, $0) }) { first, _ in first }
  }

  /// The one task of a film that is copied.
  func copy(_ copy: PassthroughTask) throws -> NewTask {
    try task(
      .stitch, .passthrough(copy), label: labels.copy(of: copy.digests), digests: copy.digests, cost: 0,
      work: copy.pictureCount ?? 0)
  }

  /// The tasks of the film's audio. One that is not divided has the highest cost and starts first.
  func audio(_ plan: RenderPlan) throws -> [NewTask] {
    let tasks = plan.audioTasks
    let longest = plan.segments.map(\.cost).max() ?? 0
    let partCount = tasks.filter(\.isPart).count
    return try tasks.enumerated().map { number, audio in
      let whole = labels.audio(of: audio.digests)
      let isPart = audio.isPart
      return try task(
        // Parts are first.
        .audio, .audio(audio), label: isPart ? "part \(number + 1) of \(partCount), \(whole)" : whole,
        digests: audio.digests, cost: isPart ? Self.cost(of: audio) : max(longest + 1, Self.cost(of: audio)),
        work: Int(audio.sampleCount))
    }
  }

  /// The cost of audio, in the unit of segments: a sample of a channel, mixed and encoded, takes about as long as eight
  /// pixels.
  private static func cost(of audio: AudioTask) -> Double {
    audio.mixes.reduce(0) { $0 + Double($1.sampleCount) * Double($1.channels * $1.encoders.count) * 8 }
  }

  /// The tasks that measure the segments before the film is rendered; none if its bit rate needs no measurement.
  func measures(_ plan: RenderPlan) throws -> [NewTask] {
    try zip(plan.segments, plan.measureTasks).map { segment, measured in
      try task(.measure, .measure(measured), label: labels.measure(segment.frames), of: segment)
    }
  }

  /// A task that measures the motion of a camera.
  func motion(_ motion: MotionTask) throws -> NewTask {
    let size = motion.source.video.size
    return try task(
      .measure, .motion(motion), label: labels.motion(of: motion.source.digest), digests: [motion.source.digest],
      cost: Double(size.width * size.height) * Self.motionCost, work: 0, memory: MemoryModel.memory(of: motion))
  }

  /// The cost of a pixel of a stretch whose motion is measured, in the unit of segments: about 300 pictures that are
  /// decoded and compared.
  private static let motionCost = 50.0

  func video(_ segment: Segment, _ payload: TaskPayload) throws -> NewTask {
    let frames = labels.video(segment.frames, of: segment.task.sourceDigests)
    let label = segment.task.smart?.copy == nil ? frames : "copy of \(frames)"
    var task = try task(.video, payload, label: label, of: segment)
    task.boundary = segment.boundary.reason
    let seconds = segment.task.format.frameDuration.approximateSeconds * Double(segment.task.frameCount)
    task.duration = .microseconds(Int64((seconds * 1_000_000).rounded()))
    return task
  }

  /// The task that makes the film. Its inputs are the results of the other tasks, and the file of the artwork.
  /// - Parameter tasks: The video tasks by segment, then the audio's by part.
  func stitch(_ plan: RenderPlan, _ tasks: [NewTask]) throws -> NewTask {
    let payload = try Self.encoded(.stitch(plan.stitch))
    let inputs = plan.stitch.artwork.flatMap { files[$0.digest] }.map { [$0] } ?? []
    let pieces = tasks.compactMap(\.cached)
    var known: KnownResult?
    if pieces.count == tasks.count { known = result(fingerprint(.stitch, payload, (pieces + inputs).map(\.digest))) }
    return NewTask(
      kind: .stitch, label: labels.stitch(pieces: tasks.count), payload: payload, inputs: inputs,
      // The digests of the pieces are known only when the pieces exist. Their fingerprints determine what they will be.
      fingerprint: fingerprint(.stitch, payload, tasks.map(\.fingerprint) + inputs.map(\.digest)), cost: 0, work: 0,
      cached: known?.content, maker: known?.maker?.account)
  }

  static func encoded(_ payload: TaskPayload) throws -> [UInt8] {
    try [UInt8](JSONCoding.encoder.encode(payload))
  }

  private func task(_ kind: TaskKind, _ payload: TaskPayload, label: String, of segment: Segment) throws -> NewTask {
    try task(
      kind, payload, label: label, digests: segment.task.sourceDigests + segment.task.otherDigests,
      cost: segment.cost, work: segment.task.frameCount, memory: segment.memory)
  }

  /// - Parameter digests: The task's sources and fonts, in hexadecimal. The same file may be listed more than once.
  private func task(
    _ kind: TaskKind, _ content: TaskPayload, label: String, digests: [String], cost: Double, work: Int,
    memory: Int64 = 0
  ) throws -> NewTask {
    let payload = try Self.encoded(content)
    var seen: Set<String> = []
    let inputs = digests.filter { seen.insert($0).inserted }.compactMap { files[$0] }
    let fingerprint = fingerprint(kind, payload, inputs.map(\.digest))
    let known = result(fingerprint)
    return NewTask(
      kind: kind, label: label, payload: payload, inputs: inputs, fingerprint: fingerprint, cost: cost,
      work: Int64(work), memory: memory, cached: known?.content, maker: known?.maker?.account)
  }

  private func fingerprint(_ kind: TaskKind, _ payload: [UInt8], _ inputs: [SHA256Digest]) -> SHA256Digest {
    TaskFingerprint.of(build: build, kind: kind, payload: payload, inputs: inputs)
  }
}

/// What a task makes, for people: files are named by the last part of their path in the document.
struct TaskLabel: Sendable {
  /// More files than this are counted and not named.
  private static let maximumNames = 3
  private static let maximumName = 60

  /// By digest, in hexadecimal.
  private let names: [String: String]

  init(_ request: JobRequest) {
    names = Dictionary(request.assets.map { ($0.digest, Self.name($0.path)) }) { first, _ in first }
  }

  func probe(_ digest: String) -> String { "probe of \(names[digest] ?? "a file")" }

  /// Such as `frames 0..299 of beach.mp4, music.wav`.
  func video(_ frames: Range<Int>, of digests: [String]) -> String {
    let range = "frames \(frames.lowerBound)..\(max(frames.lowerBound, frames.upperBound - 1))"
    return digests.isEmpty ? range : "\(range) of \(list(digests))"
  }

  /// Such as `measurement of frames 0..299`.
  func measure(_ frames: Range<Int>) -> String { "measurement of \(video(frames, of: []))" }

  /// Such as `camera motion in walk.mp4`.
  func motion(of digest: String) -> String { "camera motion in \(names[digest] ?? "a file")" }

  func audio(of digests: [String]) -> String { digests.isEmpty ? "silence" : "audio of \(list(digests))" }

  func copy(of digests: [String]) -> String { "copy of \(list(digests))" }

  func stitch(pieces: Int) -> String { "stitch of \(pieces) \(pieces == 1 ? "piece" : "pieces")" }

  private func list(_ digests: [String]) -> String {
    var seen: Set<String> = []
    let distinct = digests.filter { seen.insert($0).inserted }
    guard distinct.count <= Self.maximumNames else { return "\(distinct.count) assets" }
    return distinct.map { names[$0] ?? "a file" }.joined(separator: ", ")
  }

  private static func name(_ path: String) -> String {
    String((path.split(separator: "/").last ?? Substring(path)).prefix(maximumName))
  }
}
