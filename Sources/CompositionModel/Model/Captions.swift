/// The captions of one text track of an asset, on the film's timeline: drawn over the pictures and their overlays, or
/// carried as a text track of the output.
public struct Captions: Sendable, Hashable, Codable {
  public var asset: AssetID
  /// The stream's index in the asset.
  public var sourceTrack: Int
  /// The film's time of the asset's time zero; may be negative.
  public var start: MediaTime
  /// The part that is used, on the asset's timeline. Nil: all.
  public var source: MediaTimeRange?
  public var use: CaptionUse

  public init(asset: AssetID, sourceTrack: Int, start: MediaTime, source: MediaTimeRange? = nil, use: CaptionUse) {
    self.source = source
    self.asset = asset
    self.sourceTrack = sourceTrack
    self.start = start
    self.use = use
  }
}

extension Captions {
  /// The part that is used, in milliseconds of the asset's timeline.
  package var used: Range<Int64> {
    get throws(TimeError) {
      guard let source else { return Int64.min..<Int64.max }
      let start = Int64(clamping: try (source.start.exact * Rational(1000)).rounded)
      let end = Int64(clamping: try (source.end.exact * Rational(1000)).rounded)
      return start..<max(start, end)
    }
  }
}

/// The captions of a track, of which those of a range of time are found without reading the others.
package struct CaptionTimeline: Sendable {
  private let events: [CaptionEvent]
  /// For each event, the latest end of it and of those before it.
  private let latestEnds: [Int64]

  /// - Parameter events: in order of their start.
  package init(_ events: [CaptionEvent]) {
    self.events = events
    latestEnds = events.map(\.end).runningMaxima
  }

  /// The captions that are shown in a range, in milliseconds, cut to it.
  package func events(in range: Range<Int64>) -> [CaptionEvent] {
    let first = latestEnds.partitionPoint { range.lowerBound < $0 }
    let end = events.partitionPoint { range.upperBound <= $0.start }
    guard first < end else { return [] }
    return events[first..<end].compactMap { event in
      let shown = (event.start..<event.end).clamped(to: range)
      return shown.isEmpty
        ? nil : CaptionEvent(start: shown.lowerBound, end: shown.upperBound, fields: event.fields)
    }
  }
}

/// What becomes of captions.
public enum CaptionUse: Sendable, Hashable, Codable {
  /// They are drawn. The style is nil for a file with styles of its own.
  case drawn(CaptionStyle?)
  case track(CaptionTrack)
}

/// How captions without styles of their own are drawn.
public struct CaptionStyle: Sendable, Hashable, Codable {
  /// A font family, found by fontconfig.
  public var font: String
  public var isBold: Bool
  public var isItalic: Bool
  /// The height of a line's letters, from the top of the highest to the bottom of the lowest, in pixels of the frame.
  public var size: Double
  public var color: Color
  /// The outline's width in pixels; 0 is none.
  public var outline: Double
  public var outlineColor: Color
  public var anchor: Anchor
  /// Pixels between the text, or its box, and the frame's edges.
  public var margin: Int
  /// Those at the left and at the right. Nil: `margin`.
  public var sideMargin: Int?
  /// Those at one edge. Nil: as `sideMargin` or `margin`.
  public var edges: CaptionMargins?
  /// A rectangle behind the lines of each caption. Nil: none.
  public var box: TextBox?
  /// The color of a word while it is said, in captions that state the times of their words. Nil: as those before it.
  public var highlightColor: Color?
  /// The color of words that have been said. Nil: `color`.
  public var spokenColor: Color?
  /// What becomes of the texts. Nil: they are as they are written.
  public var wording: CaptionWording?
  /// Whether lines run from top to bottom, the first line at the right. Nil: they do not.
  public var isVertical: Bool?

  public init(
    font: String = "sans-serif", isBold: Bool = false, isItalic: Bool = false, size: Double, color: Color = .white,
    outline: Double, outlineColor: Color = .black, anchor: Anchor = .bottom, margin: Int,
    sideMargin: Int? = nil, edges: CaptionMargins? = nil, box: TextBox? = nil, highlightColor: Color? = nil,
    spokenColor: Color? = nil, wording: CaptionWording? = nil, isVertical: Bool? = nil
  ) {
    self.font = font
    self.isBold = isBold
    self.isItalic = isItalic
    self.size = size
    self.color = color
    self.outline = outline
    self.outlineColor = outlineColor
    self.anchor = anchor
    self.margin = margin
    self.sideMargin = sideMargin
    self.edges = edges
    self.box = box
    self.highlightColor = highlightColor
    self.spokenColor = spokenColor
    self.wording = wording
    self.isVertical = isVertical
  }
}

/// Pixels between captions and single edges of the frame. Nil: as the style has them for several edges.
public struct CaptionMargins: Sendable, Hashable, Codable {
  public var left: Int?
  public var right: Int?
  /// Of captions at the top.
  public var top: Int?
  /// Of captions at the bottom.
  public var bottom: Int?

  public init(left: Int? = nil, right: Int? = nil, top: Int? = nil, bottom: Int? = nil) {
    (self.left, self.right, self.top, self.bottom) = (left, right, top, bottom)
  }
}

extension CaptionStyle {
  /// The margin of captions in a third of the frame, above or below them.
  package func margin(of row: Anchor.Row) -> Int {
    switch row {
    case .top: edges?.top ?? margin
    case .middle: margin
    case .bottom: edges?.bottom ?? margin
    }
  }
}

extension Anchor {
  /// A third of the frame.
  package enum Row: Sendable {
    case top, middle, bottom
  }

  /// The third of the frame in which captions are placed.
  package var row: Row {
    switch self {
    case .topLeft, .top, .topRight: .top
    case .left, .center, .right: .middle
    case .bottomLeft, .bottom, .bottomRight: .bottom
    }
  }
}

/// A text track of the output.
public struct CaptionTrack: Sendable, Hashable, Codable {
  /// The name of a subtitle track of the document: captions with the same name are one track. Nil: they are a track of
  /// their own.
  public var id: TrackID?
  public var label: TrackLabel
  /// Whether players show it without being asked.
  public var isDefault: Bool
  /// libavformat's names of what else the file states of the track, such as `forced`. Nil: nothing.
  public var characteristics: [String]?
  /// What becomes of the texts. Nil: they are as they are written.
  public var wording: CaptionWording?

  public init(label: TrackLabel = TrackLabel(), isDefault: Bool = false, wording: CaptionWording? = nil) {
    self.label = label
    self.isDefault = isDefault
    self.wording = wording
  }
}
