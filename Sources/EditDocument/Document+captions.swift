public import CompositionModel

extension Document {
  /// Captions of a file, of a movie's text track or of a list that are drawn over the film or carried as a track of the
  /// output. What is nil has its default.
  public struct Captions: Hashable, Sendable {
    /// An asset with a text track. Empty if there are `cues`.
    public var asset: AssetID
    /// The captions themselves, in place of those of an asset.
    public var cues: [Cue] = []
    /// Nil: they are drawn.
    public var `as`: Use?
    /// The part that is used, on the asset's timeline. Nil: all of it.
    public var use: TimeRange?
    /// When `use` starts, or without it the asset's time 0; may be negative. Nil: 0.
    public var at: Time?

    // Of captions without styles of their own, which a file such as ASS has.

    /// The most characters of a line; longer lines are broken. Nil: lines are as they are written.
    public var lineLength: Int?
    /// How the words of speakers are shown, by the names that the captions have for them.
    public var speakers: [String: CaptionSpeaker] = [:]
    /// Whether the name of the speaker is before the words. Nil: it is not.
    public var speakerNames: Bool?

    // Of captions that are drawn. A file with styles of its own, such as ASS, takes none of these.

    /// The font family. Nil: `sans-serif`.
    public var font: String?
    public var bold: Bool?
    public var italic: Bool?
    /// The height of a line's letters in pixels. Nil: an eighteenth of the frame's height.
    public var size: Double?
    /// Nil: white.
    public var color: Color?
    /// The outline's width in pixels. Nil: 1/360 of the frame's height.
    public var outline: Double?
    /// Nil: black.
    public var outlineColor: Color?
    /// Nil: at the bottom; of vertical captions at the right, from the top.
    public var anchor: Anchor?
    /// Pixels between them and the frame's edges. Nil: 1/27 of the frame's height.
    public var margin: Int?
    /// Those at the left and at the right. Nil: as `margin`.
    public var sideMargin: Int?
    /// That at the left. Nil: as `sideMargin`.
    public var leftMargin: Int?
    /// That at the right. Nil: as `sideMargin`.
    public var rightMargin: Int?
    /// That of captions at the top. Nil: as `margin`.
    public var topMargin: Int?
    /// That of captions at the bottom. Nil: as `margin`.
    public var bottomMargin: Int?
    /// A rectangle behind the lines of each caption.
    public var box: TextBox?
    /// The colour of a word while it is said. Nil: as the words before it.
    public var highlightColor: Color?
    /// The colour of the words that have been said. Nil: as `color`.
    public var spokenColor: Color?

    /// Whether lines run from top to bottom, the first line at the right. Nil: they do not.
    public var vertical: Bool?

    /// The margins at single edges. Nil: none has its own.
    public var edgeMargins: CaptionMargins? {
      get {
        let edges = CaptionMargins(left: leftMargin, right: rightMargin, top: topMargin, bottom: bottomMargin)
        return edges == CaptionMargins() ? nil : edges
      }
      set {
        (leftMargin, rightMargin) = (newValue?.left, newValue?.right)
        (topMargin, bottomMargin) = (newValue?.top, newValue?.bottom)
      }
    }

    /// What becomes of the texts. Nil: they are as they are written.
    public var wording: CaptionWording? {
      get {
        let wording = CaptionWording(
          lineLength: lineLength, speakers: speakers.isEmpty ? nil : speakers,
          showsSpeakers: speakerNames == true ? true : nil)
        return wording == CaptionWording() ? nil : wording
      }
      set {
        lineLength = newValue?.lineLength
        (speakers, speakerNames) = (newValue?.speakers ?? [:], newValue?.showsSpeakers)
      }
    }

    // Of a track of the output:

    /// Three letters of ISO 639-2, such as `eng`.
    public var language: String?
    /// For people, at most 200 characters.
    public var title: String?
    /// Whether players show it without being asked. Nil: they do not.
    public var `default`: Bool?

    public init(_ asset: AssetID, as use: Use? = nil) {
      self.asset = asset
      self.as = use
    }

    public init(_ cues: [Cue], as use: Use? = nil) {
      self.init("", as: use)
      self.cues = cues
    }

    /// One caption of a list.
    public struct Cue: Hashable, Sendable {
      /// On a timeline of the list's own, to the nearest millisecond.
      public var over: TimeRange
      /// Its lines.
      public var text: String
      /// Who says it. Nil: nobody is named.
      public var speaker: String?
      @Incidental var pointer = JSONPointer.root

      public init(over range: TimeRange, _ text: String, speaker: String? = nil) {
        (over, self.text, self.speaker) = (range, text, speaker)
      }
    }

    public enum Use: String, Hashable, Sendable, CaseIterable {
      case picture, track
    }
  }
}
