import CompositionModel
import RenderTasks

/// Plans the captions of an edit that are drawn.
struct CaptionPlanner {
  /// The captions of an entry of the document.
  private struct Part {
    var script: CaptionScript
    var fonts: CaptionFonts
    /// Nil: that of the captions' file.
    var style: CaptionStyle?
  }

  /// Captions that are placed beside each other: those of an entry of the document, or of several without styles of
  /// their own, in the same third of the frame, that are shown at once.
  private struct Drawn {
    var asset: AssetID
    /// The film's time of the captions' time zero.
    var start: MediaTime
    var parts: [Part]
    /// In order of their start, each with the index of its part.
    var events: [(part: Int, event: CaptionScript.Event)]

    var times: CaptionTimes {
      CaptionTimes(
        events.map { .init(start: $0.event.start, end: $0.event.end, isPlacedFreely: $0.event.isPlacedFreely) })
    }

    /// Whether the captions of another entry would be drawn over these.
    /// - Parameter events: The events of the other entry, in the time of these.
    func meets(_ style: CaptionStyle?, _ events: [CaptionScript.Event]) -> Bool {
      guard let style, style.isVertical != true,
        parts.allSatisfy({ $0.style?.anchor.row == style.anchor.row && $0.style?.isVertical != true })
      else { return false }
      var index = 0
      for event in events {
        while index < self.events.count, self.events[index].event.end <= event.start { index += 1 }
        if index < self.events.count, self.events[index].event.start < event.end { return true }
      }
      return false
    }
  }

  /// The most bytes of captions in the tasks of all segments together. Each caption is in those of the segments that
  /// show it, or one that is connected with it.
  private static let greatestSize = 64 << 20

  private final class Size {
    var bytes = 0
  }

  private let drawn: [(captions: Drawn, times: CaptionTimes)]
  private let frame: PixelSize
  private let size = Size()
  private let grid: FrameGrid

  init(
    _ edit: Edit, grid: FrameGrid, sources: SourceLookup, fonts: [FontRequest: TextFonts]
  ) throws(PlanError) {
    self.grid = grid
    frame = edit.videoComposition.renderSize
    var drawn: [Drawn] = []
    for captions in edit.captions ?? [] {
      guard case .drawn(let style) = captions.use else { continue }
      var script = CaptionScript(
        try sources.captions(of: captions), style: style, frame: edit.videoComposition.renderSize)
      try mapErrors(to: PlanError.time("the captions '\(captions.asset)'")) { () throws(TimeError) in
        script.cut(to: try captions.used)
      }
      var found: [TextFonts] = []
      for request in script.requests {
        guard let own = fonts[request] else {
          throw PlanError(.fontsNotFound(text: request.text), "the captions '\(captions.asset)'")
        }
        found.append(own)
      }
      let part = Part(script: script, fonts: CaptionFonts(found), style: style)
      var isStacked = false
      for index in drawn.indices where !isStacked {
        let start = drawn[index].start
        let shift = try mapErrors(to: PlanError.time("the captions '\(captions.asset)'")) { () throws(TimeError) in
          Int64(clamping: try ((captions.start - start).exact * Rational(1000)).rounded)
        }
        let events = script.events(laterBy: shift)
        guard drawn[index].meets(style, events) else { continue }
        isStacked = true
        let number = drawn[index].parts.count
        drawn[index].events += events.map { (number, $0) }
        drawn[index].events.sort { ($0.event.start, $0.part) < ($1.event.start, $1.part) }
        drawn[index].parts.append(part)
      }
      if isStacked { continue }
      drawn.append(
        Drawn(asset: captions.asset, start: captions.start, parts: [part], events: script.events.map { (0, $0) }))
    }
    self.drawn = drawn.map { ($0, $0.times) }
  }

  /// The captions that are drawn in some frames of the film, in the order of the document. Nil: none.
  func captions(in frames: Range<Int>) throws(PlanError) -> [PlannedCaptions]? {
    var planned: [PlannedCaptions] = []
    for (drawn, times) in drawn {
      let captions = try mapErrors(to: PlanError.time("the captions '\(drawn.asset)'")) {
        () throws(TimeError) in try plan(drawn, times, frames)
      }
      guard let captions else { continue }
      size.bytes += captions.events.reduce(captions.header.utf8.count) { $0 + $1.fields.utf8.count + 32 }
      guard size.bytes <= Self.greatestSize else {
        let asset = drawn.asset
        throw PlanError(.tooManyCaptions(asset: asset, limit: Self.greatestSize), "the captions '\(asset)'")
      }
      planned.append(captions)
    }
    return planned.isEmpty ? nil : planned
  }

  /// The frames in which captions are drawn, and one more at both ends of each.
  func drawnFrames() throws(PlanError) -> [Range<Int>] {
    var found: [Range<Int>] = []
    for (drawn, _) in drawn {
      try mapErrors(to: PlanError.time("the captions '\(drawn.asset)'")) { () throws(TimeError) in
        for (_, event) in drawn.events {
          let start = try drawn.start.exact + Rational(Int128(event.start), 1000)
          let end = try drawn.start.exact + Rational(Int128(event.end), 1000)
          let (first, last) = (try grid.firstFrame(atOrAfter: start), try grid.firstFrame(atOrAfter: end))
          found.append(max(0, first - 1)..<min(grid.frameCount, last + 1))
        }
      }
    }
    return found
  }

  private func plan(
    _ drawn: Drawn, _ times: CaptionTimes, _ frames: Range<Int>
  ) throws(TimeError) -> PlannedCaptions? {
    let styles = drawn.parts.compactMap(\.style)
    var planned = PlannedCaptions(
      header: styles.count > 1 ? CaptionScript.header(styles, frame) : drawn.parts[0].script.header,
      start: try grid.time(of: frames.lowerBound) - drawn.start, events: [], fonts: [])
    let first = try planned.time(of: 0, frameDuration: grid.frameDuration)
    let last = try planned.time(of: frames.count - 1, frameDuration: grid.frameDuration)
    let connected = times.connected(from: first, through: last)
    if connected.isEmpty { return nil }
    let boxes = styles.enumerated().compactMap { number, style in
      style.box.map { PlannedCaptions.Box(number, color: $0.color, radius: $0.radius) }
    }
    if !boxes.isEmpty { planned.boxes = boxes }
    for index in connected {
      let (number, event) = drawn.events[index]
      let part = drawn.parts[number]
      planned.events.append(
        CaptionEvent(
          start: event.start, end: event.end,
          fields: part.script.fields(event, ofStyle: number, fonts: part.fonts, used: &planned.fonts)))
    }
    return planned
  }
}

extension SourceLookup {
  /// The captions of a text track.
  func captions(of captions: Captions) throws(PlanError) -> CaptionsFormat {
    guard let asset = assets[captions.asset] else {
      throw PlanError(.assetNotDescribed(captions.asset), "the captions")
    }
    guard let track = asset.description.tracks.first(where: { $0.index == captions.sourceTrack }),
      let format = track.captions
    else { throw PlanError(.noTrack(asset: captions.asset, index: captions.sourceTrack), "the captions") }
    return format
  }
}
