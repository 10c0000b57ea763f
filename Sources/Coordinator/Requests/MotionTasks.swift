import CompositionModel
import ContentStorage
import Digest
import EditDocument
import FarmModel
import FoundationEssentials
import Jobs
import RenderTasks
import Segmenter

/// The tasks that measure how the camera moves in a request's stabilized clips, and their results. They run when the
/// media are described and before the film is planned, because the places of the clips' pictures follow from them: as
/// measure tasks of a job, and as probe tasks of an inspection.
struct MotionTasks {
  /// What is known already.
  private(set) var found: [MotionTask: CameraMotion] = [:]
  /// The tasks whose results are not known.
  private(set) var missing: [(motion: MotionTask, task: NewTask)] = []

  /// - Parameter result: Reads a result. Nil: it is lost.
  init(
    _ edit: Edit, assets: [AssetID: PlannedAsset], maker: TaskMaker, result: (Content) throws -> CameraMotion?
  ) throws {
    for motion in try MotionPlanner.tasks(edit, assets: assets) {
      var task = try maker.motion(motion)
      if let known = try task.cached.flatMap(result) {
        found[motion] = known
      } else {
        task.cached = nil
        missing.append((motion, task))
      }
    }
  }

  /// Assets of stabilized clips in which no motion was found.
  static func warnings(_ edit: Edit, assets: [AssetID: PlannedAsset]) -> [Problem] {
    let clips = edit.composition.tracks.filter { $0.type == .video }.flatMap(\.clips)
    var seen: Set<AssetID> = []
    return clips.filter { $0.stabilization != nil && seen.insert($0.asset).inserted }.compactMap { clip in
      guard let steps = assets[clip.asset]?.motion[clip.sourceTrack], steps.count > 1,
        steps.allSatisfy({ $0.x == 0 && $0.y == 0 && $0.angle == 0 })
      else { return nil }
      return Problem(
        asset: clip.asset,
        message:
          "no motion was found in the pictures of '\(clip.asset)', which 'stabilize' could even out: the camera "
          + "stands still, or they have too little contrast")
    }
  }

  /// The tasks as probe tasks of an inspection, without those whose results are known from another one.
  /// - Parameter result: The result of a task with a fingerprint. Nil: there is none.
  mutating func inspected(
    _ result: (SHA256Digest) throws -> CameraMotion?
  ) rethrows -> [(motion: MotionTask, task: NewTask)] {
    var unknown: [(motion: MotionTask, task: NewTask)] = []
    for (motion, task) in missing {
      var task = task
      task.kind = .probe
      task.fingerprint = TaskFingerprint.of(
        build: "", kind: .probe, payload: task.payload, inputs: task.inputs.map(\.digest))
      if let known = try result(task.fingerprint) { found[motion] = known } else { unknown.append((motion, task)) }
    }
    return unknown
  }

  /// The motion that a task found. Nil if it is not in the content store any more, or was damaged there and is removed:
  /// it is measured again. Blocks.
  static func read(_ result: Content, store: ContentStore) throws -> CameraMotion? {
    try Measurements.bytes(of: result, store: store).map { try decode(Data($0)) }
  }

  /// Throws `WrongResult` for bytes that are none.
  static func decode(_ bytes: Data) throws(WrongResult) -> CameraMotion {
    try WrongResult.decode(CameraMotion.self, from: bytes, as: "the motion of a camera")
  }
}

extension JobRequest {
  /// The assets that are described, as planning needs them.
  func planned(_ descriptions: [AssetID: AssetDescription]) -> [AssetID: PlannedAsset] {
    var planned: [AssetID: PlannedAsset] = [:]
    for asset in assets {
      guard let description = descriptions[asset.id] else { continue }
      planned[asset.id] = PlannedAsset(description: description, digest: asset.digest)
    }
    return planned
  }
}
