package import CompositionModel
package import RenderTasks

/// The text tracks of an edit.
package enum CarriedCaptions {
  /// Between captions that are shown at the same time.
  private static let separator = "{\\r}\\N"
  /// The most bytes of the captions that a QuickTime text track shows at a time: it states their length in 16 bits.
  private static let greatestText = 60_000
  /// The most bytes of a QuickTime text track, in which a caption is repeated whenever another one begins or ends.
  private static let greatestSize = 64 << 20

  /// The style that decoders of SubRip and WebVTT assume: white letters at the bottom.
  private static let usualStyles = """

    [V4+ Styles]
    Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, \
    Underline, StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, \
    MarginV, Encoding
    Style: Default,Arial,16,&Hffffff,&Hffffff,&H0,&H0,0,0,0,0,100,100,0,0,1,1,0,2,10,10,10,1

    """

  /// The head with styles, without which the encoder of QuickTime's text writes black letters of no size.
  private static func styled(_ header: String) -> String {
    let hasStyles = header.split(whereSeparator: \.isNewline).contains {
      $0.drop(while: \.isWhitespace).lowercased().hasPrefix("style:")
    }
    return hasStyles ? header : header + usualStyles
  }

  /// Nil if there are none.
  static func tracks(of edit: Edit, sources: SourceLookup) throws(PlanError) -> [StitchedText]? {
    var texts: [StitchedText] = []
    // By text, whether each of its events is of a file with styles.
    var isStyled: [[Bool]] = []
    // By text, the first of its files.
    var assets: [AssetID] = []
    let (range, end) = try mapErrors(to: PlanError.time("the film's length")) { () throws(TimeError) in
      let range = try edit.exportedRange
      return (range, Int64(clamping: try (range.duration.exact * Rational(1000)).floor))
    }
    // By asset, and by the track in it.
    var timelines: [AssetID: [Int: CaptionTimeline]] = [:]
    for captions in edit.captions ?? [] {
      guard case .track(var description) = captions.use, let plain = CaptionCodec(edit.export.container) else {
        continue
      }
      let wording = description.wording
      description.wording = nil
      let format = try sources.captions(of: captions)
      // Matroska has the author's styles as they are.
      let codec = plain == .subRip && format.hasStyles ? .ass : plain
      let events = try mapErrors(to: PlanError.time("the captions '\(captions.asset)'")) { () throws(TimeError) in
        let timeline = timelines[captions.asset]?[captions.sourceTrack] ?? CaptionTimeline(format.events)
        timelines[captions.asset, default: [:]][captions.sourceTrack] = timeline
        let placed = try placed(timeline.events(in: captions.used), of: captions, from: range.start, end: end)
        return format.hasStyles ? placed : placed.map { (wording ?? CaptionWording()).written($0) }
      }
      if let index = texts.firstIndex(where: { $0.description.id != nil && $0.description.id == description.id }) {
        // Styles of several files are not one file's.
        if texts[index].codec != codec || texts[index].header != format.header { texts[index].codec = plain }
        texts[index].events += events
        isStyled[index] += events.map { _ in format.hasStyles }
      } else {
        texts.append(StitchedText(codec: codec, header: format.header, description: description, events: events))
        isStyled.append(events.map { _ in format.hasStyles })
        assets.append(captions.asset)
      }
    }
    for index in texts.indices {
      if texts[index].codec == .movText { texts[index].header = styled(texts[index].header) }
      texts[index].events = try written(texts[index], isStyled: isStyled[index], of: assets[index], end: end)
    }
    return texts.isEmpty ? nil : texts
  }

  /// The text track of captions that a program states.
  /// - Parameters:
  ///   - events: In milliseconds of the output, within it.
  ///   - end: The output's end, in milliseconds.
  package static func text(
    of events: [CaptionEvent], _ description: CaptionTrack, in container: Container, end: Int64
  ) throws(PlanError) -> StitchedText {
    var text = StitchedText(
      codec: CaptionCodec(container) ?? .subRip, header: styled(CaptionsFormat.plainHeader), description: description,
      events: events)
    text.events = try written(text, isStyled: events.map { _ in false }, of: "captions", end: end)
    return text
  }

  /// The captions of a text as its codec has them, in the order of their times.
  /// - Parameter isStyled: Whether each is of a file with styles.
  private static func written(
    _ text: StitchedText, isStyled: [Bool], of asset: AssetID, end: Int64
  ) throws(PlanError) -> [CaptionEvent] {
    var events = text.events
    if text.codec != .ass {
      for (number, isStyled) in isStyled.enumerated() {
        events[number].fields = CaptionText.plain(events[number].fields, isStyled: isStyled, for: text.codec)
      }
      events.removeAll { $0.fields.isEmpty }
    }
    if text.codec == .movText {
      let styles = QuickTimeStyles(text.header)
      for number in events.indices { events[number].fields = styles.complete(events[number].fields) }
    }
    let order = events.indices.sorted { (events[$0].start, $0) < (events[$1].start, $1) }
    // A player takes captions with the number of another for the same.
    let numbered = order.enumerated().map { number, event in
      var event = events[event]
      event.fields = "\(number)" + event.fields.drop { $0 != "," }
      return event
    }
    return text.codec == .movText ? try following(numbered, of: asset, end: end) : numbered
  }

  /// The captions on the output's timeline, within the output.
  /// - Parameters:
  ///   - events: Those that are used.
  ///   - origin: The output's start on the composition's timeline.
  ///   - end: The output's end, in milliseconds.
  private static func placed(
    _ events: [CaptionEvent], of captions: Captions, from origin: MediaTime, end: Int64
  ) throws(TimeError) -> [CaptionEvent] {
    let start = Int64(clamping: try ((captions.start.exact - origin.exact) * Rational(1000)).rounded)
    var placed: [CaptionEvent] = []
    for event in events {
      let moved = CaptionEvent(
        start: max(0, event.start &+ start), end: min(end, event.end &+ start), fields: event.fields)
      if moved.start < moved.end { placed.append(moved) }
    }
    return placed
  }

  /// Captions of which one is shown at a time, from 0 to the film's end. Those that overlap are one below the other,
  /// the earlier first.
  private static func following(
    _ events: [CaptionEvent], of asset: AssetID, end: Int64
  ) throws(PlanError) -> [CaptionEvent] {
    var size = 0
    let times = Set(events.flatMap { [$0.start, $0.end] } + [0, end]).sorted()
    var following: [CaptionEvent] = []
    var shown: [CaptionEvent] = []
    var next = 0
    for (start, end) in zip(times, times.dropFirst()) {
      shown.removeAll { $0.end <= start }
      while next < events.count, events[next].start <= start {
        shown.append(events[next])
        next += 1
      }
      let length = shown.reduce(0) { $0 + $1.fields.utf8.count + separator.utf8.count }
      guard length <= greatestText else {
        throw PlanError(
          .captionsTooLong(asset: asset, limit: greatestText, at: start), "the text track of '\(asset)'")
      }
      size += length
      guard size <= greatestSize else {
        throw PlanError(.textTrackTooLarge(asset: asset, limit: greatestSize), "the text track of '\(asset)'")
      }
      let fields = joined(shown)
      if let last = following.last, last.fields == fields {
        following[following.count - 1].end = end
      } else {
        following.append(CaptionEvent(start: start, end: end, fields: fields))
      }
    }
    return following
  }

  /// The fields of one event with the texts of several. Empty: there are none.
  private static func joined(_ events: [CaptionEvent]) -> String {
    guard let first = events.first else { return "" }
    guard events.count > 1 else { return first.fields }
    let texts = events.map { $0.fields.commaFields().last ?? "" }
    return first.fields.commaFields().dropLast().joined(separator: ",") + "," + texts.joined(separator: separator)
  }
}
