import CompositionModel
import ContentStorage
import Digest
import FarmAPI
import FarmModel
import FoundationEssentials
import Jobs
import RenderTasks
import SystemSupport

extension DamageReport {
  private init(_ track: ShownDamage.Track, path: String) {
    // To a microsecond: sums of binary fractions have further digits that mean nothing.
    func rounded(_ seconds: Double) -> Double { (seconds * 1e6).rounded() / 1e6 }
    self.init(
      path: path, track: track.track, type: track.type, count: track.count,
      places: track.places.map { Place(sourceSeconds: rounded($0.source), filmSeconds: rounded($0.output)) })
  }

  /// - Parameter request: Names the media; nil: they are named by their digests.
  static func list(_ damage: ShownDamage, _ request: JobRequest?) -> [DamageReport] {
    damage.tracks.map { track in
      let asset = SHA256Digest(hex: track.digest).flatMap { request?.assets(of: $0).first }
      return DamageReport(track, path: asset?.path ?? "media \(track.digest.prefix(12))")
    }
  }
}

extension JobRequest {
  /// Why a job that accepts no damaged media fails; empty if nothing is damaged or the job accepts it.
  /// - Parameters:
  ///   - damage: The damage of the film, or of a piece.
  ///   - isWhole: Whether there is no more than is counted.
  func problems(with damage: ShownDamage, isWhole: Bool = true) -> [Problem] {
    guard options.strictMedia else { return [] }
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
    if let impossibility { throw ImpossibleReport(impossibility) }
  }
}

/// A report of damage with numbers that no film has.
struct ImpossibleReport: Error, CustomStringConvertible {
  private let impossibility: String

  init(_ impossibility: String) {
    self.impossibility = impossibility
  }

  var description: String { "a report of damage is impossible: \(impossibility)" }
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
