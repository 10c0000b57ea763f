public import CompositionModel
import EditDocument

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
      /// Nil: at the bottom.
      public var anchor: VideoComposition.Overlay.Anchor?
      /// Between the text and the frame's edges.
      public var margin: Int?
      /// At the left and at the right. Nil: as `margin`.
      public var sideMargin: Int?

      public init(
        font: String? = nil, isBold: Bool = false, isItalic: Bool = false, size: Double? = nil,
        color: VideoComposition.Color? = nil, outline: Double? = nil, outlineColor: VideoComposition.Color? = nil,
        anchor: VideoComposition.Overlay.Anchor? = nil, margin: Int? = nil, sideMargin: Int? = nil
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
      }
    }

    public var asset: AssetID
    /// The part that is used, on the asset's timeline. Nil: all.
    public var source: MediaTimeRange?
    /// The film's time at which `source` starts, or else the asset's time zero. May be negative.
    public var start: MediaTime
    public var use: Use

    public init(_ asset: AssetID, source: MediaTimeRange? = nil, at start: MediaTime = .zero, use: Use = .drawn()) {
      self.asset = asset
      self.source = source
      self.start = start
      self.use = use
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
    public var description: TextTrack
    public var clips: [Clip]

    public init(id: TrackID, description: TextTrack = TextTrack(), clips: [Clip] = []) {
      self.id = id
      self.description = description
      self.clips = clips
    }
  }
}

// MARK: In a document

extension Edit.Captions: DocumentValue {
  private enum Kind: String, CaseIterable {
    case picture, track
  }

  init(_ value: JSONValue) throws(DocumentError) {
    let isTrack = try value.members.first { $0.key == "as" }?.value.choice("use of captions") == Kind.track
    let fields = try value.fields(
      "captions", ["asset", "as", "use", "at"] + (isTrack ? Edit.TextTrack.keys : Style.keys))
    self.init(
      try fields.required("asset").text,
      source: try fields.read("use") { (value) throws(DocumentError) in try value.range },
      at: try fields.read("at") { (value) throws(DocumentError) in try value.time } ?? .zero,
      use: isTrack ? .track(try Edit.TextTrack(fields)) : .drawn(try Style(fields)))
  }

  func written() throws(DocumentError) -> JSONValue {
    let own: [(String, JSONValue?)]
    switch use {
    case .drawn(let style): own = try style.members()
    case .track(let track): own = [("as", .text(Kind.track.rawValue))] + track.members
    }
    return .object(
      [
        ("asset", .text(asset)), ("use", source.map { .range($0) }), ("at", start == .zero ? nil : .time(start)),
      ] + own)
  }
}

extension Edit.Captions.Style {
  fileprivate static let keys = [
    "font", "bold", "italic", "size", "color", "outline", "outlineColor", "anchor", "margin", "sideMargin",
  ]

  fileprivate init(_ fields: DocumentFields) throws(DocumentError) {
    self.init(
      font: try fields.text("font"), isBold: try fields.flag("bold") ?? false,
      isItalic: try fields.flag("italic") ?? false, size: try fields.number("size"),
      color: try fields.read("color") { (value) throws(DocumentError) in try Color(value) },
      outline: try fields.number("outline"),
      outlineColor: try fields.read("outlineColor") { (value) throws(DocumentError) in try Color(value) },
      anchor: try fields.choice("anchor", "anchor"), margin: try fields.integer("margin"),
      sideMargin: try fields.integer("sideMargin"))
  }

  fileprivate func members() throws(DocumentError) -> [(String, JSONValue?)] {
    [
      ("font", font.map { .text($0) }), ("bold", isBold ? .flag(true) : nil),
      ("italic", isItalic ? .flag(true) : nil), ("size", size.map { .number($0) }),
      ("color", try color?.written()), ("outline", outline.map { .number($0) }),
      ("outlineColor", try outlineColor?.written()), ("anchor", anchor.map { .text($0.rawValue) }),
      ("margin", margin.map { .integer($0) }), ("sideMargin", sideMargin.map { .integer($0) }),
    ]
  }
}

extension Edit.TextTrack {
  fileprivate static let keys = ["language", "title", "default"]

  fileprivate init(_ fields: DocumentFields) throws(DocumentError) {
    self.init(
      language: try fields.text("language"), title: try fields.text("title"),
      isDefault: try fields.flag("default") ?? false)
  }

  fileprivate var members: [(String, JSONValue?)] {
    [
      ("language", language.map { .text($0) }), ("title", title.map { .text($0) }),
      ("default", isDefault ? .flag(true) : nil),
    ]
  }
}

extension Edit.SubtitleTrack: DocumentValue {
  init(_ value: JSONValue) throws(DocumentError) {
    let fields = try value.fields("a subtitle track", ["id", "type", "clips"] + Edit.TextTrack.keys)
    self.init(
      id: try fields.required("id").text, description: try Edit.TextTrack(fields),
      clips: try fields.required("clips").list { (item) throws(DocumentError) in
        let fields = try item.fields("a clip of a subtitle track", ["asset", "use", "at"])
        return Clip(
          try fields.required("asset").text,
          source: try fields.read("use") { (value) throws(DocumentError) in try value.range },
          at: try fields.read("at") { (value) throws(DocumentError) in try value.time })
      })
  }

  func written() throws(DocumentError) -> JSONValue {
    .object(
      [
        ("id", .text(id)), ("type", .text(MediaType.subtitle.rawValue)),
        (
          "clips",
          .array(
            clips.map {
              .object([
                ("asset", .text($0.asset)), ("use", $0.source.map { .range($0) }), ("at", $0.start.map { .time($0) }),
              ])
            })
        ),
      ] + description.members)
  }
}
