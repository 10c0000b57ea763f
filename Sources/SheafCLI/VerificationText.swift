import CompositionModel
import LocalFarm

/// A verification as text.
enum VerificationText {
  /// The most remarks that are printed; the statement has all of them.
  private static let mostRemarks = 12

  static func lines(_ statement: VerificationStatement) -> [String] {
    let predicate = statement.predicate
    var lines = predicate.films.flatMap { self.lines($0, predicate.share) }
    if let share = predicate.share { lines.append(text(share)) }
    lines.append(
      "rendered with \(predicate.version), build \(predicate.build), \(Measure.count(predicate.slots, "task")) at a time"
    )
    return lines
  }

  private static func text(_ share: VerificationStatement.Share) -> String {
    let numbers = share.segments.map { String($0.number) }.joined(separator: ", ")
    return
      "\(share.segments.count) of \(Measure.count(share.segmentCount, "segment")) were rendered again "
      + "(--share \(share.percent) --seed \(share.seed)): \(numbers)"
      + (share.comparedSound ? "; all of the sound was compared" : "; no sound was compared")
  }

  private static func lines(_ film: VerificationStatement.Film, _ share: VerificationStatement.Share?) -> [String] {
    let name = film.name
    var lines: [String]
    switch film.result {
    case .identical: return ["\(name): the same bytes"]
    case .sameShare: return ["\(name): the segments that were rendered again are the same bytes"]
    case .sameContent:
      lines = [
        share == nil
          ? "\(name): the bytes differ, and all pictures, samples and times are the same"
          : "\(name): packets differ, and all pictures and samples that were compared are the same"
      ]
    case .different: lines = ["\(name): it differs"]
    }
    if let problem = film.problem { lines.append("  \(problem)") }
    for (number, track) in film.tracks.enumerated() { lines += self.lines(track, "  track \(number) (\(track.codec))") }
    lines += film.remarks.prefix(mostRemarks).map { "  \($0)" }
    if film.remarks.count > mostRemarks {
      lines.append("  and \(Measure.count(film.remarks.count - mostRemarks, "remark")) more, which the statement has")
    }
    return lines
  }

  private static func lines(_ track: FilmComparison.Track, _ name: String) -> [String] {
    var lines = track.faults.map { "\(name) \($0)" }
    if let difference = track.difference { lines.append("\(name): \(text(difference, track))") }
    for segment in track.segments ?? [] where !segment.hasEqualPackets || segment.difference != nil {
      let frames = "pictures \(segment.frames.lowerBound) to \(segment.frames.upperBound - 1)"
      lines.append(
        segment.difference.map { "\(name), \(frames): \(text($0, track))" }
          ?? "\(name), \(frames): other packets with the same pictures")
    }
    return lines
  }

  /// Such as `3 of 250 pictures differ; the first is 120, at 4.8 s; …`.
  private static func text(_ difference: FilmComparison.Difference, _ track: FilmComparison.Track) -> String {
    let noun =
      switch track.type {
      case .video: track.format == "packets" && track.segments == nil ? "packet" : "picture"
      case .audio: "sample"
      case .subtitle, .metadata: "packet"
      }
    var text = "\(Measure.count(difference.count, noun)) \(difference.count == 1 ? "differs" : "differ"); the first is "
    text += "\(difference.first), at \(rounded(difference.seconds)) s"
    guard let largest = difference.largest else { return text }
    text += "; the largest difference is \(rounded(largest)) of "
    text += track.type == .audio ? "full scale" : "the whole range"
    if let worst = difference.worst, let psnr = difference.psnr {
      text += "; picture \(worst) differs most, PSNR \(Measure.decimal(psnr)) dB"
    }
    return text
  }

  private static func rounded(_ value: Double) -> Double { (value * 1e6).rounded() / 1e6 }
}
