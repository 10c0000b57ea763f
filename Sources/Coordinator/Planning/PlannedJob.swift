import CompositionModel
import Digest
import FarmAPI
import FarmModel
import FoundationEssentials
import Jobs
import RenderTasks
import Segmenter
import SystemSupport

/// The plan and the tasks of a request, given the descriptions of its media: pure, but for the measurements that it
/// reads.
struct PlannedJob: Sendable {
  var plan: RenderPlan
  /// The video tasks by segment, the audio task, the stitch task; of a film that is copied the stitch task alone. Or,
  /// if the segments have to be measured first, their measure tasks.
  var tasks: [NewTask]
  /// Also among `tasks`, unless they are measure tasks. Nil: the output has no audio.
  var audio: NewTask?
  /// What is most likely not meant.
  var warnings: [Problem]
  /// Whether `tasks` are measure tasks, so that the job is planned again when they are done.
  var isMeasuring = false
  /// Nil: the document has one output.
  var outputs: [OutputReport]?

  /// Throws `DocumentError` if the document does not match its media.
  /// - Parameters:
  ///   - fonts: The fonts of the document's texts.
  ///   - measurement: Reads the result of a measure task, of several outputs or of one. Nil: it is lost, and the
  ///     segment has to be measured again.
  ///   - result: What a task with this fingerprint produced before, if that is still available.
  init(
    _ request: JobRequest, descriptions: [AssetID: AssetDescription], fonts: FoundFonts, build: String,
    measurement: (Content, _ ofSeveral: Bool) throws -> [Measurement]?, result: (SHA256Digest) -> Content?
  ) throws {
    (plan, warnings) = try Self.plan(request, descriptions, fonts)
    let problems = request.problems(with: plan.damage)
    guard problems.isEmpty else { throw DocumentError(problems: problems) }
    let contents = try request.files() + fonts.files
    let files = Dictionary(contents.map { ($0.digest.hex, $0) }) { first, _ in first }
    let names = TaskLabel(request)
    tasks = []
    if let copy = plan.passthrough {
      tasks = [
        try Self.task(
          .stitch, .passthrough(copy), label: names.copy(of: copy.digests), digests: copy.digests, files, build,
          cost: 0, work: copy.pictureCount ?? 0, result)
      ]
      return
    }
    let ladder = plan.ladder
    outputs = ladder.map { $0.stitches.map(OutputReport.init) }
    let sound: (payload: TaskPayload, digests: [String], work: Int64)? =
      if let ladder {
        ladder.audio.map { (.audioLadder($0), $0.digests, $0.sampleCount) }
      } else {
        plan.audio.map { (.audio($0), $0.sources.map(\.digest), $0.sampleCount) }
      }
    if let sound {
      // The audio is one task, however long the film is, so it has the highest cost and starts first.
      audio = try Self.task(
        .audio, sound.payload, label: names.audio(of: sound.digests), digests: sound.digests, files, build,
        cost: (plan.segments.map(\.cost).max() ?? 0) + 1, work: Int(sound.work), result)
    }
    let measures: [TaskPayload] =
      ladder != nil
      ? plan.measureLadderTasks.map { .measureLadder($0) }
      : plan.averageBitRate == nil ? [] : plan.measureTasks.map { .measure($0) }
    var renditions = plan.segments.map { _ in ladder?.renditions ?? [] }
    if !measures.isEmpty {
      for (segment, measure) in zip(plan.segments, measures) {
        let digests = segment.task.sources.map(\.digest)
        tasks.append(
          try Self.task(
            .measure, measure, label: names.measure(segment.frames),
            digests: digests + segment.task.otherDigests, files, build, cost: segment.cost,
            work: segment.task.frameCount, memory: segment.memory, result))
      }
      let measurements = try tasks.map { try $0.cached.flatMap { try measurement($0, ladder != nil) } }
      for index in tasks.indices where measurements[index] == nil { tasks[index].cached = nil }
      guard tasks.allSatisfy({ $0.cached != nil }) else {
        isMeasuring = true
        return
      }
      let found = measurements.compactMap(\.self)
      if ladder != nil {
        renditions = try plan.sharingLadderBits(found)
      } else {
        plan = try plan.sharingBits(found.compactMap(\.first))
      }
      tasks = []
    }
    for (segment, renditions) in zip(plan.segments, renditions) {
      let digests = segment.task.sources.map(\.digest)
      tasks.append(
        try Self.task(
          .video, Self.payload(segment.task, renditions), label: names.video(segment.frames, of: digests),
          digests: digests + segment.task.otherDigests, files, build, cost: segment.cost, work: segment.task.frameCount,
          memory: segment.memory, result))
    }
    if let audio { tasks.append(audio) }
    let payload = try Self.payload(
      ladder.map { .stitchLadder($0.stitch(segmentCount: plan.segments.count)) } ?? .stitch(plan.stitch))
    // Its other inputs are the results of the tasks above.
    let artwork = ladder != nil ? ladder?.artwork : plan.stitch.artwork
    let inputs = artwork.flatMap { files[$0.digest] }.map { [$0] } ?? []
    let pieces = tasks.compactMap(\.cached)
    var cached: Content?
    if pieces.count == tasks.count {
      cached = result(
        TaskFingerprint.of(build: build, kind: .stitch, payload: payload, inputs: (pieces + inputs).map(\.digest)))
    }
    // The digests of the pieces are known only when the pieces exist. Their fingerprints determine what they will be.
    let fingerprint = TaskFingerprint.of(
      build: build, kind: .stitch, payload: payload, inputs: tasks.map(\.fingerprint) + inputs.map(\.digest))
    tasks.append(
      NewTask(
        kind: .stitch, label: names.stitch(pieces: tasks.count), payload: payload, inputs: inputs,
        fingerprint: fingerprint,
        cost: 0, work: 0, cached: cached))
  }

  /// - Parameter renditions: The renditions of a film with several outputs. Empty: it has one.
  private static func payload(_ video: VideoTask, _ renditions: [VideoRendition]) -> TaskPayload {
    guard let first = renditions.first else { return .video(video) }
    var video = video
    video.encoder = first.encoder
    return .videoLadder(VideoLadderTask(video: video, renditions: renditions))
  }

  static func plan(
    _ request: JobRequest, _ descriptions: [AssetID: AssetDescription], _ fonts: FoundFonts
  ) throws -> (RenderPlan, warnings: [Problem]) {
    let output = request.output.isEmpty ? nil : request.output
    let document = try Document.examine([UInt8](request.document.utf8), output: output)
    let (edit, warnings) = try document.lowerWithWarnings(assets: descriptions, output: output)
    var planned: [AssetID: PlannedAsset] = [:]
    for asset in request.assets {
      guard let description = descriptions[asset.id] else { continue }
      planned[asset.id] = PlannedAsset(description: description, digest: asset.digest)
    }
    let duration = try SegmentDuration.time(
      request.segmentDuration, frameDuration: edit.videoComposition.frameDuration)
    let ofFonts =
      document.fontWarnings(fonts.findings, assets: descriptions) + document.textWarnings(edit, fonts.findings)
      + document.captionWarnings(captionFindings(edit, descriptions, fonts))
    return (
      try RenderPlanner.plan(edit, assets: planned, fonts: fonts.texts, segmentDuration: duration), warnings + ofFonts
    )
  }

  /// What was found for the texts of each captions of an edit.
  private static func captionFindings(
    _ edit: Edit, _ descriptions: [AssetID: AssetDescription], _ fonts: FoundFonts
  ) -> [[FontRequest: FontFindings]] {
    (edit.captions ?? []).map { captions in
      guard case .drawn(let style) = captions.use,
        let format = descriptions[captions.asset]?.tracks.first(where: { $0.index == captions.sourceTrack })?.captions
      else { return [:] }
      let requests = CaptionScript(format, style: style, frame: edit.videoComposition.renderSize).requests
      return Dictionary(requests.compactMap { request in fonts.findings[request].map { (request, $0) } }) { first, _ in
        first
      }
    }
  }

  static func payload(_ payload: TaskPayload) throws -> [UInt8] {
    try [UInt8](JSONCoding.encoder.encode(payload))
  }

  /// - Parameter digests: The task's sources and fonts, in hexadecimal. The same file may be listed more than once.
  private static func task(
    _ kind: TaskKind, _ content: TaskPayload, label: String, digests: [String], _ files: [String: Content],
    _ build: String,
    cost: Double, work: Int, memory: Int64 = 0, _ result: (SHA256Digest) -> Content?
  ) throws -> NewTask {
    let payload = try payload(content)
    var seen: Set<String> = []
    let inputs = digests.filter { seen.insert($0).inserted }.compactMap { files[$0] }
    let fingerprint = TaskFingerprint.of(build: build, kind: kind, payload: payload, inputs: inputs.map(\.digest))
    return NewTask(
      kind: kind, label: label, payload: payload, inputs: inputs, fingerprint: fingerprint, cost: cost,
      work: Int64(work), memory: memory,
      cached: result(fingerprint))
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

/// The digest of everything that a task's result depends on: two tasks with the same fingerprint have the same result,
/// byte for byte.
enum TaskFingerprint {
  /// To be raised when the results of tasks change and the build does not.
  static let formatVersion = 1

  /// What takes the place of the build for a probe task, whose result does not depend on it: a description has what is
  /// in the file. To be raised when descriptions change.
  static let probeVersion = "probe 23"

  /// - Parameters:
  ///   - build: The build of the worker that runs the task: library versions. A probe task's fingerprint does not
  ///     depend on it.
  ///   - inputs: In the order in which the task opens them.
  static func of(build: String, kind: TaskKind, payload: [UInt8], inputs: [SHA256Digest]) -> SHA256Digest {
    var hasher = SHA256Hasher()
    // Each part follows its length, so that two different lists of parts are different bytes.
    func add(_ bytes: some Collection<UInt8>, to hasher: inout SHA256Hasher) {
      hasher.update(withUnsafeBytes(of: UInt64(bytes.count).bigEndian) { [UInt8]($0) })
      hasher.update(bytes)
    }
    add("sheaf task \(formatVersion)".utf8, to: &hasher)
    add((kind == .probe ? probeVersion : build).utf8, to: &hasher)
    add(kind.rawValue.utf8, to: &hasher)
    add(payload, to: &hasher)
    for input in inputs { add(input.hex.utf8, to: &hasher) }
    return hasher.finalize()
  }
}
