import CompositionModel
import Digest
import FoundationEssentials
import Jobs
import Segmenter

/// A job's request against the descriptions of its media: its plan and its tasks. Pure.
struct PlannedJob: Sendable {
  var plan: RenderPlan
  /// Pictures by segment, the sound, the stitch.
  var tasks: [NewTask]

  /// Throws `DocumentError` where the document does not hold against its media.
  /// - Parameter result: What a task of this fingerprint came to before, if that is still to be had.
  init(
    _ request: JobRequest, descriptions: [AssetID: AssetDescription], build: String,
    result: (SHA256Digest) -> Content?
  ) throws {
    plan = try Self.plan(request, descriptions)
    let sizes = Dictionary(request.assets.map { ($0.digest, $0.size) }) { first, _ in first }
    tasks = []
    for segment in plan.segments {
      tasks.append(
        try Self.task(
          .picture, .picture(segment.task), digests: segment.task.sources.map(\.digest), sizes, build,
          cost: segment.cost, work: segment.task.frameCount, result))
    }
    if let sound = plan.sound {
      // The sound is one task however long the film is: it starts first.
      tasks.append(
        try Self.task(
          .sound, .sound(sound), digests: sound.sources.map(\.digest), sizes, build,
          cost: (tasks.map(\.cost).max() ?? 0) + 1, work: Int(sound.sampleCount), result))
    }
    let payload = try Self.payload(.stitch(plan.stitch))
    let pieces = tasks.compactMap(\.cached)
    var cached: Content?
    if pieces.count == tasks.count {
      cached = result(
        TaskFingerprint.of(build: build, kind: .stitch, payload: payload, inputs: pieces.map(\.digest)))
    }
    // A piece's digest is known only when it is there; what it will be is what its fingerprint says.
    let fingerprint = TaskFingerprint.of(
      build: build, kind: .stitch, payload: payload, inputs: tasks.map(\.fingerprint))
    tasks.append(
      NewTask(
        kind: .stitch, payload: payload, inputs: [], fingerprint: fingerprint.hex, cost: 0, work: 0, cached: cached))
  }

  static func plan(_ request: JobRequest, _ descriptions: [AssetID: AssetDescription]) throws -> RenderPlan {
    let document = try Document.examine([UInt8](request.document.utf8))
    let edit = try document.lower(
      assets: descriptions, output: request.output.isEmpty ? nil : request.output)
    var planned: [AssetID: PlannedAsset] = [:]
    for asset in request.assets {
      guard let description = descriptions[asset.id] else { continue }
      planned[asset.id] = PlannedAsset(description: description, digest: asset.digest)
    }
    let duration = try segmentDuration(request.segmentDuration, edit)
    return try RenderPlanner.plan(edit, assets: planned, segmentDuration: duration)
  }

  static func payload(_ payload: TaskPayload) throws -> [UInt8] {
    try [UInt8](JSONCoding.encoder.encode(payload))
  }

  private static func segmentDuration(_ text: String, _ edit: Edit) throws -> MediaTime? {
    if text.isEmpty { return nil }
    guard let time = MediaTime(notation: text, frameDuration: edit.videoComposition.frameDuration), time > .zero
    else {
      throw DocumentError(problems: [
        Problem(pointer: "", message: "the segment duration \"\(text)\" is no time above zero, such as 5, 7/30 or 90f")
      ])
    }
    return time
  }

  private static func task(
    _ kind: TaskKind, _ content: TaskPayload, digests: [String], _ sizes: [String: Int64], _ build: String,
    cost: Double, work: Int, _ result: (SHA256Digest) -> Content?
  ) throws -> NewTask {
    let payload = try payload(content)
    var seen: Set<String> = []
    let unique = digests.filter { seen.insert($0).inserted }
    let fingerprint = TaskFingerprint.of(build: build, kind: kind, payload: payload, inputs: unique)
    return NewTask(
      kind: kind, payload: payload, inputs: unique.map { Content(digest: $0, size: sizes[$0] ?? 0) },
      fingerprint: fingerprint.hex, cost: cost, work: Int64(work), cached: result(fingerprint))
  }
}
