import CompositionModel
import ContentStorage
import Digest
import FarmModel
import FoundationEssentials
import Jobs
import RenderTasks

/// What a task has to return, so that a result that it cannot be is the failure of the worker that returned it, and
/// nothing is planned from it.
enum ExpectedResult: Sendable, Hashable {
  case description, fonts, findings, motion, measurements

  /// The longest that is read, in bytes.
  private static let maximumBytes = 64 << 20

  /// Nil: the result is not read by a coordinator, such as a piece, or, such as pictures, only for the one who waits.
  init?(_ grant: Grant) {
    guard grant.kind == .probe || grant.kind == .measure else { return nil }
    // The payload is an object with one key, the kind of the payload.
    let name = grant.payload.prefix(32).split(
      separator: UInt8(ascii: "\""), maxSplits: 2, omittingEmptySubsequences: false)
    guard name.count == 3 else { return nil }
    switch String(decoding: name[1], as: UTF8.self) {
    case "probe": self = .description
    case "fonts": self = .fonts
    case "compositors": self = .findings
    case "motion": self = .motion
    case "measure": self = .measurements
    default: return nil
    }
  }

  /// Throws `WrongResult` if the content cannot be the result; another error if it cannot be read. Blocks.
  func check(_ content: Content, in store: ContentStore) throws {
    guard content.size <= Self.maximumBytes || self == .fonts else {
      throw WrongResult(
        description: "what a worker returned has \(content.size) bytes, more than the \(Self.maximumBytes) allowed")
    }
    switch self {
    case .description: _ = try ProbeTasks.decode(read(content, store))
    case .fonts: _ = try FontTasks.list(in: content, store: store)
    case .findings: _ = try CompositorTasks.decode(read(content, store))
    case .motion: _ = try MotionTasks.decode(read(content, store))
    case .measurements: _ = try Measurements.decode(read(content, store))
    }
  }

  private func read(_ content: Content, _ store: ContentStore) throws -> Data {
    try Data(store.read(content.digest, limit: Self.maximumBytes))
  }
}
