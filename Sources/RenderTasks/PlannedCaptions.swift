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
  /// The rectangles behind captions, of the styles that have them. Nil: none has.
  package var boxes: [Box]?

  /// The rectangle behind each caption of a style. The script has it in a color that only marks it.
  package struct Box: Sendable, Hashable, Codable {
    /// Red of the mark; green and blue are 0.
    package var mark: UInt8
    package var color: Color
    /// Of its corners, in pixels.
    package var radius: Int

    /// - Parameter number: That of the style, of which a script has no more than a film has captions.
    package init(_ number: Int, color: Color, radius: Int) {
      (mark, self.color, self.radius) = (UInt8(number + 1), color, radius)
    }

    /// The mark of a style as a script has colors.
    static func mark(_ number: Int) -> String { "&H000000" + UInt8(number + 1).hexadecimal }
  }

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
