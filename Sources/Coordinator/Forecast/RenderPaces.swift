import ContentStorage
import Digest
import FarmAPI
import FarmModel
import FoundationEssentials
import Jobs
import Logging
import Runtime
import SystemSupport

/// How long the last segments took for their work, by the build that rendered them. It is kept in the content store, so
/// that the next process of this machine knows it too.
actor RenderPaces {
  /// How many segments are kept of a build: the last ones.
  static let window = 400

  private let notes: ResultNotes
  private let logger: Logger
  private var measured: [String: [MeasuredSegment]] = [:]
  /// Those whose segments are being written, and whether others have come since.
  private var writing: [String: Bool] = [:]

  init(notes: ResultNotes, logger: Logger) {
    (self.notes, self.logger) = (notes, logger)
  }

  /// Records a segment that was rendered.
  /// - Parameters:
  ///   - took: From the grant to the result, without the wait for a slot.
  ///   - cost: In pixels.
  func rendered(_ took: Duration, cost: Double, inputs: [SHA256Digest], build: String) async {
    await record(took, work: cost / 1_000_000, inputs, build)
  }

  /// The same of sound.
  func mixed(_ took: Duration, samples: Int64, inputs: [SHA256Digest], build: String) async {
    await record(took, work: Double(samples) / 1_000_000, inputs, Self.sound(build))
  }

  /// Sound is kept as if another build had made it.
  private static func sound(_ build: String) -> String { "sound of \(build)" }

  private func record(_ took: Duration, work: Double, _ inputs: [SHA256Digest], _ build: String) async {
    let seconds = took / .seconds(1)
    guard work > 0, seconds > 0 else { return }
    var known = await known(build)
    known.append(MeasuredSegment(seconds: seconds, work: work, inputs: inputs))
    measured[build] = Array(known.suffix(Self.window))
    if writing[build] != nil {
      writing[build] = true
      return
    }
    repeat {
      writing[build] = false
      let kept = measured[build] ?? []
      do {
        try await BlockingWork.run { [notes] in try notes.record(kept, of: build) }
      } catch {
        // Only an estimate is less exact.
        logger.debug("pace of a segment not kept", metadata: ["error": "\(error)"])
      }
    } while writing[build] == true
    writing[build] = nil
  }

  /// What is known of a build.
  func pace(of build: String) async -> RenderingPace { RenderingPace(measured: await known(build)) }

  /// The same, by the files that segments show.
  func times(of build: String) async -> SegmentTimes { SegmentTimes(await known(build)) }

  /// What a million samples of sound took.
  func soundTimes(of build: String) async -> SegmentTimes { SegmentTimes(await known(Self.sound(build))) }

  private func known(_ build: String) async -> [MeasuredSegment] {
    if let known = measured[build] { return known }
    // Cancelled: the service stops.
    let read = (try? await BlockingWork.run { [notes] in notes.segments(of: build) }) ?? []
    // Another call may have read and added meanwhile.
    if let known = measured[build] { return known }
    measured[build] = read
    return read
  }
}

extension ResultNotes {
  private static func paceKey(_ build: String) -> SHA256Digest {
    SHA256Digest.of(Array("pace of segments by \(build)".utf8))
  }

  fileprivate func record(_ segments: [MeasuredSegment], of build: String) throws {
    try record(String(decoding: JSONCoding.encoder.encode(segments), as: UTF8.self), of: Self.paceKey(build))
  }

  /// A note that a crash has damaged is ignored, as every entry of the store is.
  fileprivate func segments(of build: String) -> [MeasuredSegment] {
    guard let note = note(of: Self.paceKey(build)) else { return [] }
    let segments = (try? JSONDecoder().decode([MeasuredSegment].self, from: Data(note.utf8))) ?? []
    return Array(segments.suffix(RenderPaces.window))
  }
}
