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
    description = CaptionTrack(
      label: TrackLabel(language: label.language, title: label.title), isDefault: label.isDefault)
  }

  var isEmpty: Bool { captions.isEmpty }

  mutating func append(_ caption: AssetWriter.Caption) throws(SheafError) {
    guard caption.timeRange.start.isNumeric, !caption.timeRange.isEmpty else {
      throw SheafError(.misuse, "the caption '\(caption.text)' is shown over \(caption.timeRange)")
    }
    guard captions.count < Self.greatestCount else {
      throw SheafError(.misuse, "a text track has at most \(Self.greatestCount) captions")
    }
    captions.append(caption)
  }

  /// - Parameters:
  ///   - start: The time of what was appended at which the film starts.
  ///   - duration: That of the film.
  func text(from start: MediaTime, lasting duration: MediaTime, in container: Container) throws -> StitchedText {
    func milliseconds(_ time: Rational) throws(TimeError) -> Int64 {
      Int64(clamping: try (time * Rational(1000)).rounded)
    }
    let events = try captions.compactMap { caption -> CaptionEvent? in
      let first = max(0, try milliseconds(caption.timeRange.start.exact - start.exact))
      let last = try milliseconds(min(caption.timeRange.end.exact - start.exact, duration.exact))
      guard first < last else { return nil }
      return CaptionEvent(
        start: first, end: last, fields: "0,0,Default,,0,0,0,,\(CaptionText.escaped(caption.text))")
    }
    let end = Int64(clamping: try (duration.exact * Rational(1000)).floor)
    return try CarriedCaptions.text(of: events, description, in: container, end: end)
  }
}
