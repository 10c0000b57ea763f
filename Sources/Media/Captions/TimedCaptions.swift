internal import CMedia
import CompositionModel

/// The captions that a decoder gives, with times in ticks of their track.
struct TimedCaptions {
  private var events: [(start: Int64, end: Int64?, fields: String)] = []
  private var size = 0
  private let timebase: AVRational
  private let name: String
  /// A script's head.
  var header: String
  let hasStyles: Bool
  var hasCueSettings = false

  /// - Parameters:
  ///   - timebase: Seconds a tick.
  ///   - name: The file's, for messages.
  init(_ timebase: AVRational, name: String, header: String, hasStyles: Bool) {
    (self.timebase, self.name, self.header, self.hasStyles) = (timebase, name, header, hasStyles)
  }

  var isEmpty: Bool { events.isEmpty }

  /// Throws `.tooLarge` for more captions than a description has.
  /// - Parameter end: Nil: nothing says when it ends.
  mutating func add(start: Int64, end: Int64?, fields: String) throws(MediaError) {
    events.append((start, end, fields))
    size += fields.utf8.count
    guard events.count <= CaptionsFormat.greatestCount, size <= CaptionsFormat.greatestSize else {
      throw MediaError(
        .tooLarge, operation: "reading captions", subject: name,
        message: "more than \(CaptionsFormat.greatestCount) captions, or \(CaptionsFormat.greatestSize) bytes of them")
    }
  }

  /// The first and last time, in ticks. Nil if there are no captions.
  var extent: (start: Int64, end: Int64)? {
    guard let start = events.map(\.start).min() else { return nil }
    return (start, events.map { max($0.start, $0.end ?? $0.start) }.max() ?? start)
  }

  /// - Parameter zero: the asset's time zero, in seconds of the file's own timeline.
  func captions(zero: Rational) throws(MediaError) -> CaptionsFormat {
    let tick = MediaTime(timebase)
    func milliseconds(_ ticks: Int64) throws(MediaError) -> Int64 {
      try mapErrors(to: MediaError.init(outOfRange:)) { () throws(TimeError) in
        Int64(clamping: try ((tick.exact * Rational(ticks) - zero) * Rational(1000)).rounded)
      }
    }
    var found: [CaptionEvent] = []
    for (event, next) in zip(events, nextStarts) {
      // A caption without an end is shown until the next one, or for three seconds.
      let start = try milliseconds(event.start)
      let end = try (event.end ?? next).map(milliseconds) ?? (start > .max - 3000 ? .max : start + 3000)
      if start < end { found.append(CaptionEvent(start: start, end: end, fields: event.fields)) }
    }
    let order = found.indices.sorted { (found[$0].start, $0) < (found[$1].start, $1) }
    var captions = CaptionsFormat(header: header, hasStyles: hasStyles, events: order.map { found[$0] })
    if hasCueSettings { captions.hasCueSettings = true }
    return captions
  }

  /// For each event the start of the next one in the file that starts later. Nil: there is none.
  private var nextStarts: [Int64?] {
    // Falling, the next one last.
    var later: [Int64] = []
    var next: [Int64?] = []
    for event in events.reversed() {
      while let start = later.last, start <= event.start { later.removeLast() }
      next.append(later.last)
      later.append(event.start)
    }
    return next.reversed()
  }
}
