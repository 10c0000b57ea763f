package import CompositionModel

/// What smart rendering copies of a film, and why the rest is encoded. Its JSON is stable: keys may be added, but are
/// never changed.
package struct SmartReport: Sendable, Hashable, Codable {
  /// Frames of a clip that are encoded.
  package struct Refusal: Sendable, Hashable, Codable {
    /// Nil: no clip is shown.
    package var track: String?
    package var asset: String?
    /// Where the clip starts on the composition's timeline, or where the frames do that show none.
    package var start: MediaTime
    package var frames: Int
    package var reason: String

    package init(track: String?, asset: String?, start: MediaTime, frames: Int, reason: String) {
      (self.track, self.asset, self.start) = (track, asset, start)
      (self.frames, self.reason) = (frames, reason)
    }

    /// Such as `100 frames of 'beach' on 'A' at 4: an overlay is drawn over it`.
    package var text: String {
      let count = "\(frames) \(frames == 1 ? "frame" : "frames")"
      let clip = asset.map { asset in " of '\(asset)'" + (track.map { " on '\($0)'" } ?? "") } ?? ""
      return "\(count)\(clip) at \(start): \(reason)"
    }
  }

  package var copiedFrames: Int
  package var encodedFrames: Int
  /// In the order of the film. Of a job at most `mostRefusals`.
  package var refusals: [Refusal]
  /// How many refusals are left out. Nil: none.
  package var moreRefusals: Int?

  package init(copiedFrames: Int, encodedFrames: Int, refusals: [Refusal]) {
    (self.copiedFrames, self.encodedFrames, self.refusals) = (copiedFrames, encodedFrames, refusals)
  }

  /// Those that are kept with a job.
  package static let mostRefusals = 200

  /// With the first refusals alone.
  package var shortened: SmartReport {
    guard refusals.count > Self.mostRefusals else { return self }
    var report = self
    report.refusals = Array(refusals.prefix(Self.mostRefusals))
    report.moreRefusals = refusals.count - Self.mostRefusals
    return report
  }

  /// For a person, the sum first.
  package var lines: [String] {
    ["\(copiedFrames) frames copied, \(encodedFrames) encoded"] + refusals.map(\.text)
      + (moreRefusals.map { ["and \($0) more"] } ?? [])
  }
}
