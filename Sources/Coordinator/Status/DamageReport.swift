package import CompositionModel
import ContentStorage
import Digest
import FoundationEssentials
import Jobs
import RenderTasks
import SwiftProtobuf
import SystemSupport
package import Wire

/// The damaged media that a film shows, with their names in the document: what `check`, `plan` and `status` report.
package struct DamageReport: Sendable, Hashable, Codable {
  package struct Place: Sendable, Hashable, Codable {
    /// On the file's own timeline.
    package var sourceSeconds: Double
    /// Where it is first shown or heard.
    package var filmSeconds: Double
  }

  /// The file's name in the document.
  package var path: String
  /// The track's number in the file.
  package var track: Int
  /// `video` or `audio`.
  package var type: MediaType
  /// Pictures of a video track, packets of an audio track.
  package var count: Int
  /// The first of them.
  package var places: [Place]

  private init(_ track: ShownDamage.Track, path: String) {
    self.path = path
    self.track = track.track
    type = track.type
    count = track.count
    // To a microsecond: sums of binary fractions have further digits that mean nothing.
    func rounded(_ seconds: Double) -> Double { (seconds * 1e6).rounded() / 1e6 }
    places = track.places.map { Place(sourceSeconds: rounded($0.source), filmSeconds: rounded($0.output)) }
  }

  package init(_ message: Sheaf_MediaDamage) {
    path = message.path
    track = Int(message.track)
    type = message.isAudio ? .audio : .video
    count = Int(clamping: message.count)
    places = message.places.map { Place(sourceSeconds: $0.sourceSeconds, filmSeconds: $0.filmSeconds) }
  }

  /// - Parameter request: Names the media; nil: they are named by their digests.
  static func list(_ damage: ShownDamage, _ request: JobRequest?) -> [DamageReport] {
    damage.tracks.map { track in
      let asset = SHA256Digest(hex: track.digest).flatMap { request?.assets(of: $0).first }
      return DamageReport(track, path: asset?.path ?? "media \(track.digest.prefix(12))")
    }
  }

  var message: Sheaf_MediaDamage {
    .with {
      $0.path = path
      $0.track = UInt32(clamping: track)
      $0.isAudio = type == .audio
      $0.count = UInt64(clamping: count)
      $0.places = places.map { place in
        .with {
          $0.sourceSeconds = place.sourceSeconds
          $0.filmSeconds = place.filmSeconds
        }
      }
    }
  }

  /// One sentence for a person, such as `12 frames of 'beach.mp4' are damaged, the first at 0:03.200 (0:01.120 of the
  /// film)`.
  package var text: String {
    guard let first = places.first else { return sourceText }
    return "\(sourceText) (\(Self.clock(first.filmSeconds)) of the film)"
  }

  /// The same without the film's time, which is not known of a piece.
  var sourceText: String {
    let noun = type == .audio ? "packet" : "frame"
    let counted = count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
    let kind = type == .audio ? "the audio of " : ""
    let name = path.split(separator: "/").last.map { String($0) } ?? path
    var text = "\(counted) of \(kind)'\(name)' \(count == 1 ? "is" : "are") damaged"
    if let first = places.first {
      text += (count == 1 ? ", at " : ", the first at ") + Self.clock(first.sourceSeconds)
    }
    return text
  }

  private static func clock(_ seconds: Double) -> String { ClockText.of(seconds: seconds) ?? "\(seconds) s" }
}

extension JobRequest {
  /// Why a job that accepts no damaged media fails; empty if nothing is damaged or the job accepts it.
  /// - Parameters:
  ///   - damage: Of the film, or of a piece.
  ///   - isWhole: Whether there is no more than is counted.
  func problems(with damage: ShownDamage, isWhole: Bool = true) -> [Problem] {
    guard strictMedia == true else { return [] }
    return zip(damage.tracks, DamageReport.list(damage, self)).map { track, report in
      let asset = SHA256Digest(hex: track.digest).flatMap { assets(of: $0).first }
      let text = (isWhole ? "" : "at least ") + report.sourceText
      return asset.map { Problem(asset: $0.id, message: text) } ?? Problem(pointer: "", message: text)
    }
  }
}

extension ShownDamage {
  /// Reads what a worker reports of a result, or what a note has of it. Throws if it is not JSON, or is impossible.
  init(report: Data) throws {
    self = try JSONDecoder().decode(ShownDamage.self, from: report)
    if let impossibility { throw WireError(.violation, "a report of damage is impossible: \(impossibility)") }
  }
}

extension ResultNotes {
  /// Keeps the damaged media that a result shows.
  func record(_ damage: ShownDamage, of result: SHA256Digest) throws {
    try record(String(decoding: JSONCoding.encoder.encode(damage.summary), as: UTF8.self), of: result)
  }

  /// The damaged media that a result shows; nil if they are not known. A film has a note also if it shows none.
  func damage(of result: SHA256Digest) -> ShownDamage? {
    guard let note = note(of: result) else { return nil }
    // A note that a crash has damaged is ignored, as every entry of the store is.
    return try? ShownDamage(report: Data(note.utf8))
  }

  /// The damaged media that the cached results of a plan show: of the film if it is among them, or else of its pieces.
  ///
  /// A note lists the first places of each track. So a picture that two pieces show and neither note lists is counted
  /// by neither: of such a track the count is the least that there can be, and `isWhole` is false.
  func damage(ofCached tasks: [NewTask]) -> (damage: ShownDamage, isWhole: Bool) {
    let film = tasks.first { $0.kind == .stitch }?.cached
    if let film, let damage = damage(of: film.digest) { return (damage, true) }
    var counter = DamageCounter(limit: ShownDamage.placesOfFilm)
    var most: [String: Int] = [:]
    var isWhole = true
    for piece in tasks.filter({ $0.kind != .stitch }).compactMap(\.cached) {
      guard var damage = damage(of: piece.digest) else { continue }
      for (index, track) in damage.tracks.enumerated() {
        let name = "\(track.digest) \(track.track)"
        most[name] = max(most[name] ?? 0, track.count)
        if track.count > track.places.count { isWhole = false }
        damage.tracks[index].count = track.places.count
      }
      counter.add(damage, at: 0)
    }
    var damage = counter.damage
    for (index, track) in damage.tracks.enumerated() {
      damage.tracks[index].count = max(track.count, most["\(track.digest) \(track.track)"] ?? 0)
    }
    return (damage, isWhole)
  }
}
