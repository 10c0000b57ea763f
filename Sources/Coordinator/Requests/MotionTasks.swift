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

  /// The movements that a task found. Nil if they are not in the content store any more, or were damaged there and are
  /// removed: they are measured again. Blocks.
  static func read(_ result: Content, store: ContentStore) throws -> CameraMotion? {
    try Measurements.bytes(of: result, store: store).map { try decode(Data($0)) }
  }

  /// Throws `WrongResult` for bytes that are no movements.
  static func decode(_ bytes: Data) throws(WrongResult) -> CameraMotion {
    try WrongResult.decode(CameraMotion.self, from: bytes, as: "the movements of a camera")
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
