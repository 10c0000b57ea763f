package import CompositionModel

/// The captions that are drawn in a segment. The renderer's result is a function of the events and of time: what is on
/// the screen earlier decides where captions that overlap in time are placed, so the events that overlap the shown
/// ones, and those that overlap these, are part of the task.
package struct PlannedCaptions: Sendable, Hashable, Codable {
  /// The head of a script of Advanced SubStation Alpha.
  package var header: String
  /// The captions' time of the segment's first frame, in seconds.
  package var start: MediaTime
  /// In order of their start. In the text a font's name has a place, `CaptionScript.place(ofFont:)`.
  package var events: [CaptionEvent]
  package var fonts: [PlannedFont]

  package init(header: String, start: MediaTime, events: [CaptionEvent], fonts: [PlannedFont]) {
    self.header = header
    self.start = start
    self.events = events
    self.fonts = fonts
  }

  /// The captions' time, in milliseconds, of a frame of the segment; it may be before the first. An event is shown in
  /// the frames from its start on, without its end.
  package func time(of frame: Int, frameDuration: MediaTime) throws(TimeError) -> Int64 {
    Int64(clamping: try ((start.exact + frameDuration.exact * Rational(frame)) * Rational(1000)).floor)
  }

  /// The first frame that is not before a time in milliseconds.
  package func frame(at time: Int64, frameDuration: MediaTime) throws(TimeError) -> Int {
    let seconds = try Rational(Int128(time), 1000) - start.exact
    return Int(clamping: try (seconds / frameDuration.exact).ceiling)
  }
}

/// Plans the captions of an edit that are drawn.
struct CaptionPlanner {
  private struct Drawn {
    var captions: Captions
    var script: CaptionScript
    var fonts: CaptionFonts
    /// Of the script's events.
    var times: CaptionTimes
  }

  /// The most bytes of captions in the tasks of all segments together. Each caption is in those of the segments that
  /// show it, or one that is connected with it.
  private static let greatestSize = 64 << 20

  private final class Size {
    var bytes = 0
  }

  private let drawn: [Drawn]
  private let size = Size()
  private let grid: FrameGrid

  init(
    _ edit: Edit, grid: FrameGrid, sources: SourceLookup, fonts: [FontRequest: TextFonts]
  ) throws(PlanError) {
    self.grid = grid
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
      let times = CaptionTimes(
        script.events.map { .init(start: $0.start, end: $0.end, isPlacedFreely: $0.isPlacedFreely) })
      drawn.append(Drawn(captions: captions, script: script, fonts: CaptionFonts(found), times: times))
    }
    self.drawn = drawn
  }

  /// The captions that are drawn in some frames of the film, in the order of the document. Nil: none.
  func captions(in frames: Range<Int>) throws(PlanError) -> [PlannedCaptions]? {
    var planned: [PlannedCaptions] = []
    for drawn in drawn {
      let captions = try mapErrors(to: PlanError.time("the captions '\(drawn.captions.asset)'")) {
        () throws(TimeError) in try plan(drawn, frames)
      }
      guard let captions else { continue }
      size.bytes += captions.events.reduce(captions.header.utf8.count) { $0 + $1.fields.utf8.count + 32 }
      guard size.bytes <= Self.greatestSize else {
        let asset = drawn.captions.asset
        throw PlanError(.tooManyCaptions(asset: asset, limit: Self.greatestSize), "the captions '\(asset)'")
      }
      planned.append(captions)
    }
    return planned.isEmpty ? nil : planned
  }

  private func plan(_ drawn: Drawn, _ frames: Range<Int>) throws(TimeError) -> PlannedCaptions? {
    var planned = PlannedCaptions(
      header: drawn.script.header, start: try grid.time(of: frames.lowerBound) - drawn.captions.start, events: [],
      fonts: [])
    let first = try planned.time(of: 0, frameDuration: grid.frameDuration)
    let last = try planned.time(of: frames.count - 1, frameDuration: grid.frameDuration)
    let connected = drawn.times.connected(from: first, through: last)
    if connected.isEmpty { return nil }
    for index in connected {
      let event = drawn.script.events[index]
      planned.events.append(
        CaptionEvent(
          start: event.start, end: event.end,
          fields: drawn.script.fields(event, fonts: drawn.fonts, used: &planned.fonts)))
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
