public import CompositionModel

extension Edit {
  /// Captions of a file, such as SRT, WebVTT or ASS, or of the text track of a movie: drawn over the film, or carried
  /// as a text track of it.
  public struct Captions: Sendable, Hashable {
    /// What becomes of captions.
    public enum Use: Sendable, Hashable {
      /// They are drawn over the pictures and their overlays. A file with styles of its own, such as ASS, takes none.
      case drawn(Style = Style())
      /// They are a text track of the output.
      case track(TextTrack = TextTrack())
    }

    /// How captions without styles of their own are drawn. Lengths are in pixels of the frame; what is nil follows from
    /// the frame's height.
    public struct Style: Sendable, Hashable {
      /// A font family. Nil: `sans-serif`.
      public var font: String?
      public var isBold: Bool
      public var isItalic: Bool
      /// The height of a line's letters.
      public var size: Double?
      /// Nil: white.
      public var color: VideoComposition.Color?
      /// The width of the line around the letters; 0 is none.
      public var outline: Double?
      /// Nil: black.
      public var outlineColor: VideoComposition.Color?
      /// Nil: at the bottom; of vertical captions at the right, from the top.
      public var anchor: VideoComposition.Overlay.Anchor?
      /// Between the text and the frame's edges.
      public var margin: Int?
      /// At the left and at the right. Nil: as `margin`.
      public var sideMargin: Int?
      /// At single edges of the frame. Nil: none has its own.
      public var edges: CaptionMargins?
      /// A rectangle behind the lines of each caption, from which the margins count then. Nil: none.
      public var box: TextBox?
      /// Of a word while it is said, where the file states the times of its words. Nil: as the words before it.
      public var highlightColor: VideoComposition.Color?
      /// Of the words that have been said. Nil: as `color`.
      public var spokenColor: VideoComposition.Color?
      /// Whether lines run from top to bottom, the first line at the right.
      public var isVertical: Bool

      public init(
        font: String? = nil, isBold: Bool = false, isItalic: Bool = false, size: Double? = nil,
        color: VideoComposition.Color? = nil, outline: Double? = nil, outlineColor: VideoComposition.Color? = nil,
        anchor: VideoComposition.Overlay.Anchor? = nil, margin: Int? = nil, sideMargin: Int? = nil,
        edges: CaptionMargins? = nil, box: TextBox? = nil, highlightColor: VideoComposition.Color? = nil,
        spokenColor: VideoComposition.Color? = nil, isVertical: Bool = false
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
        self.isVertical = isVertical
      }
    }

    public var asset: AssetID
    /// The part that is used, on the asset's timeline. Nil: all.
    public var source: MediaTimeRange?
    /// The film's time at which `source` starts, or else the asset's time zero. May be negative.
    public var start: MediaTime
    public var use: Use
    /// What becomes of the texts of a file without styles of its own, such as how long their lines are. Nil: they are
    /// as they are written.
    public var wording: CaptionWording?

    public init(
      _ asset: AssetID, source: MediaTimeRange? = nil, at start: MediaTime = .zero, use: Use = .drawn(),
      wording: CaptionWording? = nil
    ) {
      self.asset = asset
      self.source = source
      self.start = start
      self.use = use
      self.wording = wording
    }
  }

  /// How players present a text track of the output.
  public struct TextTrack: Sendable, Hashable {
    /// Three letters of ISO 639-2, such as `eng`. Nil: not stated.
    public var language: String?
    /// For people, such as `English for the hard of hearing`.
    public var title: String?
    /// Whether players show it without being asked.
    public var isDefault: Bool

    public init(language: String? = nil, title: String? = nil, isDefault: Bool = false) {
      self.language = language
      self.title = title
      self.isDefault = isDefault
    }
  }

  /// A text track of the output, with the captions of its clips one after the other.
  public struct SubtitleTrack: Sendable, Hashable {
    /// The captions of a file, or of a movie's text track.
    public struct Clip: Sendable, Hashable {
      public var asset: AssetID
      /// The part that is used, on the asset's timeline. Nil: all.
      public var source: MediaTimeRange?
      /// On the composition's timeline. Nil: at the end of the clip before it.
      public var start: MediaTime?

      public init(_ asset: AssetID, source: MediaTimeRange? = nil, at start: MediaTime? = nil) {
        self.asset = asset
        self.source = source
        self.start = start
      }
    }

    /// No other track has this name.
    public var id: TrackID
    /// Its language and its title.
    public var label: TextTrack
    public var clips: [Clip]

    /// - Parameters:
    ///   - id: Its name, which no other track has.
    ///   - label: Its language and its title.
    ///   - clips: Its captions, in order.
    public init(id: TrackID, label: TextTrack = TextTrack(), clips: [Clip] = []) {
      self.id = id
      self.label = label
      self.clips = clips
    }
  }
}
