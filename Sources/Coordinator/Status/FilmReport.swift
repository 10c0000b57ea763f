import CompositionModel
import ContentStorage
import Digest
import EditDocument
import FarmAPI
import FoundationEssentials
import RenderTasks
import Segmenter
import SystemSupport

extension FilmReport {
  /// Places beyond this number are left out, of each pointer.
  private static let mostPlaces = 50

  /// Nil if the film has no video.
  init?(_ plan: RenderPlan, _ warnings: [Problem], _ times: FilmTimes) throws(TimeError) {
    guard let format = plan.format else { return nil }
    self.init(frameSeconds: format.frameDuration.approximateSeconds, places: [])
    smart = plan.smart.map { SmartReport($0).shortened }
    for (pointer, ranges) in times.ranges(at: Set(warnings.map(\.pointer))).sorted(by: { $0.key < $1.key }) {
      var shown: [Range<Int>] = []
      for range in ranges {
        let frames = try plan.frames(in: range)
        if !frames.isEmpty { shown.append(frames) }
      }
      places += Self.merged(shown).prefix(Self.mostPlaces).map { Place(pointer: pointer, frames: $0) }
    }
  }

  /// Ranges in order, those that touch as one.
  private static func merged(_ ranges: [Range<Int>]) -> [Range<Int>] {
    var merged: [Range<Int>] = []
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = merged.last, range.lowerBound <= last.upperBound {
        merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        merged.append(range)
      }
    }
    return merged
  }
}

extension SmartReport {
  init(_ plan: SmartRenderingPlan) {
    self.init(
      copiedFrames: plan.copiedFrames, encodedFrames: plan.encodedFrames,
      refusals: plan.refusals.map {
        Refusal(track: $0.track, asset: $0.asset, start: $0.start, frames: $0.frames, reason: $0.reason)
      })
  }
}

// Where the places of a document are in its film is known when the job is planned, and is kept as its warnings are.
extension ResultNotes {
  func record(_ film: FilmReport, of request: [UInt8]) throws {
    let text = try JSONCoding.encoder.encode(film)
    try record(String(decoding: text, as: UTF8.self), of: Self.filmKey(request))
  }

  /// Nil if there is no such note, or a crash has damaged it.
  func film(of request: [UInt8]) -> FilmReport? {
    guard let note = note(of: Self.filmKey(request)) else { return nil }
    return try? JSONDecoder().decode(FilmReport.self, from: Data(note.utf8))
  }

  private static func filmKey(_ request: [UInt8]) -> SHA256Digest {
    SHA256Digest.of(Array("film".utf8) + request)
  }
}
