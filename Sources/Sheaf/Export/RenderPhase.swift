import FarmAPI

/// What is done for a film at a time. A film may skip some, and comes to an earlier one again when its job is planned
/// anew, because results or the workers of its build were lost.
public enum RenderPhase: Sendable, Hashable, CaseIterable {
  /// The media that a farm does not have are sent to it. Of an ``ExportSession`` on a farm alone.
  case uploading
  /// The media are examined.
  case probing
  /// The film is cut into segments.
  case planning
  /// Segments are measured, for an average bit rate.
  case measuring
  /// The segments are rendered. ``ExportSession/Progress/fraction`` rises in this phase.
  case rendering
  /// Every segment is rendered, and the audio is not mixed yet.
  case mixing
  /// The segments are joined.
  case stitching
  /// The film is sent from a farm to this machine. Of an ``ExportSession`` on a farm alone.
  case fetching
  /// The film is at its place; or, of a job of a farm, it is done, has failed or was cancelled.
  case ended
  /// A phase of a newer coordinator.
  case unknown

  init(_ phase: JobPhase?) {
    self =
      switch phase {
      case .probing: .probing
      case .planning: .planning
      case .measuring: .measuring
      case .rendering: .rendering
      case .mixing: .mixing
      case .stitching: .stitching
      case .ended: .ended
      case nil: .unknown
      }
  }
}
