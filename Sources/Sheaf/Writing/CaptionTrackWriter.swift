import CompositionModel
import RenderTasks
import Segmenter

/// Keeps the captions of a text track until the film is written: a player of QuickTime's text needs to know what
/// follows each.
struct CaptionTrackWriter {
  /// The most captions of a track.
  private static let greatestCount = 100_000

  private let description: CaptionTrack
  private var captions: [AssetWriter.Caption] = []

  init(_ label: Edit.TextTrack, in container: Container) throws(SheafError) {
    guard container.hasTextTracks else { throw SheafError(.misuse, "\(container) has no text tracks") }
    description = CaptionTrack(label: try WriterPlan.label(label), isDefault: label.isDefault)
  }

  var isEmpty: Bool { captions.isEmpty }

  mutating func append(_ caption: AssetWriter.Caption) throws(SheafError) {
    let range = caption.timeRange
    guard range.start.isPlace, range.end.isPlace, !range.isEmpty else {
      throw SheafError(.misuse, "the caption '\(caption.text)' is shown over \(range)")
    }
    guard !caption.text.contains("\0") else {
      throw SheafError(.misuse, "the caption at \(range.start) has the character 0 in it")
    }
    guard captions.count < Self.greatestCount else {
      throw SheafError(.misuse, "a text track has at most \(Self.greatestCount) captions")
    }
    captions.append(caption)
  }

  /// Throws `.misuse` if the container cannot hold the captions.
  func check(in container: Container) throws {
    guard let last = captions.map(\.timeRange.end).max(), let first = captions.map(\.timeRange.start).min() else {
      return
    }
    do {
      _ = try text(from: first, lasting: last - first, in: container)
    } catch let error as PlanError {
      throw SheafError(.misuse, "\(error)")
    }
  }

  /// - Parameters:
  ///   - start: The time of what was appended at which the film starts.
  ///   - duration: That of the film.
  func text(from start: MediaTime, lasting duration: MediaTime, in container: Container) throws -> StitchedText {
    let length = Int64(clamping: try (duration.exact * Rational(1000)).floor)
    func milliseconds(_ time: MediaTime) throws(TimeError) -> Int64 {
      Int64(clamping: try ((time.exact - start.exact) * Rational(1000)).rounded)
    }
    let events = try captions.compactMap { caption -> CaptionEvent? in
      let first = max(0, try milliseconds(caption.timeRange.start))
      let last = min(length, try milliseconds(caption.timeRange.end))
      guard first < last else { return nil }
      return CaptionEvent(
        start: first, end: last, fields: "0,0,Default,,0,0,0,,\(CaptionText.escaped(caption.text))")
    }
    return try CarriedCaptions.text(of: events, description, in: container, end: length)
  }
}
