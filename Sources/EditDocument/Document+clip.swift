public import CompositionModel

extension Document {
  /// A clip of a track of pictures or of sound: a part of an asset in the film. What is nil has its default. The
  /// properties have the names of the keys in a document.
  public struct Clip: Hashable, Sendable {
    /// A name of the document's assets; the clip uses its default track of the type of the clip's track.
    public var asset: AssetID
    /// The part of the asset, on the asset's timeline. Nil: all of it.
    public var use: TimeRange?
    /// When it starts. Nil: at the end of the clip before it on its track, or where the transition from that one
    /// starts.
    public var at: Time?
    /// How long it lasts. If it differs from the length of `use`, the speed is changed. Nil: the length of `use`.
    public var duration: Time?
    /// In place of `duration`. Nil: 1.
    public var speed: Speed?
    /// Whether it plays backwards. Nil: forwards.
    public var reverse: Bool?
    /// In place of `use` and `speed`: the time of the asset whose picture is shown all the time.
    public var freeze: Time?
    /// Whether its sound is in the output, of a clip of a video track with sound. Nil: it is kept.
    public var sound: ClipSound?
    /// When it ends at the latest.
    public var until: End?
    /// By which other times count from it: no other clip of the document has it.
    public var name: String?
    /// Whether `use` plays again and again, until `until` or for `duration`. Nil: it does not.
    public var loop: Bool?
    /// How the clip before it on its track gives way to it. Nil: a cut.
    public var transition: ClipTransition?
    /// How it appears and disappears where no other clip of its track gives way to it, or takes its place: its picture
    /// from and to nothing, its sound from and to silence.
    public var fadeIn: Fade?
    public var fadeOut: Fade?
    /// In place of `fadeIn` and `fadeOut`: a transition of any kind from nothing, and to it.
    public var `in`: ClipTransition?
    public var out: ClipTransition?

    /// What happens to the pitch of its sound if its speed is changed. Nil: that of its track.
    public var pitch: PitchAlgorithm?
    /// Which of the asset's audio tracks is heard, from 0. Nil: the first that the file enables.
    public var track: Int?
    /// In place of `track`: the first audio track in this language, by its code of ISO 639-2.
    public var language: String?
    /// The channels of its sound that are heard, in order, from 0. Nil: all.
    public var audioChannels: [Int]?
    /// The speakers that the channels of its sound are for. Nil: as the file says.
    public var layout: SpeakerLayout?
    /// From -1, the left speakers, to 1, the right ones; ramps are on the clip's own time. Nil: 0.
    public var pan: Level?
    /// Applied to its sound, in order.
    public var audioFilters: [AudioFilter] = []
    /// 0 to 10, after its filters; ramps are on the clip's own time. Nil: 1.
    public var volume: Level?

    /// How its picture is fitted into a frame of another size. Nil: `contain`.
    public var fit: Fit?
    /// The part of the picture that is shown. Nil: all of it.
    public var crop: Rectangle?
    /// The rectangle of the film into which the picture is fitted. Nil: the whole frame.
    public var frame: Rectangle?
    public var transform: Transform?
    /// 0 to 1. Nil: 1.
    public var opacity: Double?
    /// Nil: that of its track.
    public var blendMode: Blending?
    /// Nil: that of its track.
    public var mask: Mask?
    /// Pixels, 0 to 4096. Nil: 0.
    public var cornerRadius: Double?
    public var border: LayerBorder?
    public var shadow: TextShadow?
    /// On the clip's own time.
    public var ramps: [LayerRamp] = []
    /// Applied in order; their ramps are on the clip's own time.
    public var filters: [Filter] = []
    /// Nil: `auto`.
    public var deinterlace: Deinterlace?
    /// Nil: pictures stay where they are.
    public var stabilize: Stabilize?
    /// How the colours of a picture with transparency are stored. Nil: straight.
    public var alpha: AlphaMode?

    public init(_ asset: AssetID, use: TimeRange? = nil, at: Time? = nil) {
      self.asset = asset
      self.use = use
      self.at = at
    }

    /// When a clip ends at the latest.
    public enum End: Hashable, Sendable {
      /// At the end of all other clips: `"end"`.
      case film
      /// On the film's timeline. One that counts from the end is before the end of all other clips.
      case time(Time)
    }

    /// How fast a clip plays.
    public enum Speed: Hashable, Sendable {
      /// Seconds of the asset a second of the film, 1/100 to 100.
      case constant(Rational)
      case points([SpeedPoint])
    }
  }

  /// How a clip appears, or disappears, gradually.
  public struct Fade: Hashable, Sendable {
    /// Above 0.
    public var duration: Time
    /// How its sound becomes louder or softer; its picture does so linearly. Nil: linearly.
    public var curve: FadeCurve?
    @Incidental var pointer = JSONPointer.root

    public init(_ duration: Time, curve: FadeCurve? = nil) {
      self.duration = duration
      self.curve = curve
    }
  }

  /// How sound becomes louder or softer.
  public enum FadeCurve: String, Hashable, Sendable, CaseIterable {
    case linear
    /// A quarter of a sine: of two sounds, one of which fades in while the other fades out, the power stays the same.
    case equalPower = "equal-power"
  }

  /// What becomes of the sound of a clip of a video track.
  public enum ClipSound: String, Hashable, Sendable, CaseIterable {
    case keep, drop
  }

  /// A speed from a time of the clip on, to which it goes linearly from the one before.
  public struct SpeedPoint: Hashable, Sendable {
    /// On the clip's own time. Nil: 0.
    public var at: Time?
    /// Seconds of the asset a second of the film, 0 to 100. 0 is a frozen picture.
    public var value: Rational
    @Incidental var pointer = JSONPointer.root

    public init(at: Time? = nil, _ value: Rational) {
      self.at = at
      self.value = value
    }
  }
}

extension Document.Clip {
  /// The keys of a document that it has, sorted, without `asset`.
  package var writtenKeys: [String] {
    guard case .object(let members) = json.content else { return [] }
    return members.map(\.key).filter { $0 != "asset" }.sorted()
  }
}
