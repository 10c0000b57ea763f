package import CompositionModel
package import EditDocument

/// The times of a document as exact seconds.
struct DocumentClock {
  /// Frames a second. Nil: nothing states one, and a number of frames is no time.
  let rate: Rational?
  /// When clips with a name are shown, as far as it is known.
  var clips: [String: (start: Rational, end: Rational)] = [:]
  var markers: [String: Rational] = [:]
  /// Nil: it is not known yet.
  var end: Rational?

  init(rate: Rational?) { self.rate = rate }

  /// Nil: what it counts from is not known.
  /// - Parameter end: That of the time's own timeline. Nil: the film's.
  func seconds(_ time: Document.Time, end: Rational? = nil) throws(TimeError) -> Rational? {
    switch time {
    case .seconds(let time): return try time.exact
    case .frames(let count): return try frames(count)
    case .after(let origin, let offset):
      let start: Rational? =
        switch origin {
        case .end: end ?? self.end
        case .startOfClip(let name): clips[name]?.start
        case .endOfClip(let name): clips[name]?.end
        case .marker(let name): markers[name]
        }
      let distance =
        switch offset {
        case .seconds(let time): try time.exact
        case .frames(let count): try frames(count)
        }
      guard let start, let distance else { return nil }
      return try start + distance
    }
  }

  private func frames(_ count: Int64) throws(TimeError) -> Rational? {
    guard let rate else { return nil }
    return try Rational(count) / rate
  }

  func range(
    _ range: Document.TimeRange, end: Rational?
  ) throws(TimeError) -> (start: Rational, end: Rational)? {
    guard let start = try seconds(range.start, end: end), let last = try seconds(range.end, end: end) else {
      return nil
    }
    return (start, range.endIsDuration ? try start + last : last)
  }
}

extension Document {
  /// Frames a second. Nil: the document leaves it to its clips.
  package var rate: Rational? {
    if let rate = videoComposition.frameRate { return rate }
    guard let duration = videoComposition.frameDuration else { return nil }
    do throws(TimeError) {
      return try .one / duration.exact
    } catch {
      return nil  // What is read of a document has none that is zero, or no number.
    }
  }
}
