import CompositionModel

/// `waveform` of an overlay.
enum WaveformKeys {
  private static let bars = [Waveform.Style.bars, .spectrum].map(\.rawValue)
  private static let inTime = [Waveform.Style.bars, .line].map(\.rawValue)

  static let track = Key(
    "track",
    Form<TrackID>("string", ["type": "string"], write: JSONValue.text) { reader, value in
      guard let id = reader.string(value), reader.checkTrack(id, .audio, at: value.pointer) else { return nil }
      return id
    }, default: "required, or `asset`",
    "an audio track, such as `voice`; the sound of the video track `A` is `A.sound`")
  static let asset = Key(
    "asset", .asset, default: "required, or `track`", "an asset with sound, whose time 0 is the overlay's start")
  static let style = Key(
    "style", Form<Waveform.Style>.choice("style of a waveform"), default: "`bars`", "see below")
  static let barCount = Key(
    "bars", .integer(1...512), default: "48", kinds: bars, "of bars and a spectrum: how many are in the width")
  static let window = Key(
    "window", .time, default: "2", kinds: inTime,
    "of bars and a line: how long the sound is that is in the width, from 1/100 to 60 s; the time of a frame is in the "
      + "middle")
  static let gap = Key(
    "gap", .number(0...0.95), default: "0.4", kinds: bars,
    "of bars and a spectrum: the part of a bar's width that is free")
  static let cornerRadius = Key(
    "cornerRadius", .number(BorderKeys.radii), default: "0", kinds: bars,
    "of bars and a spectrum: the radius of their corners, in pixels")
  static let lineWidth = Key(
    "lineWidth", .number(0.5...200), default: "3", kinds: [Waveform.Style.line.rawValue], "of a line, in pixels")
  static let gain = Key(
    "gain", .decibels(-60...60), default: "0",
    "decibels that are added: a quiet voice is seen better. What is louder than full scale is as high as the picture")

  static let properties: [Property<Document.Waveform>] = [
    track.of(\.track), asset.of(\.asset), style.of(\.style), barCount.of(\.bars), window.of(\.window), gap.of(\.gap),
    cornerRadius.of(\.cornerRadius), lineWidth.of(\.lineWidth), gain.of(\.gain),
  ]
  static let table = ObjectTable(
    name: "waveform", noun: "a waveform", keys: Array(properties),
    instead: [
      "source": "did you mean 'track' or 'asset'?", "audio": "did you mean 'track' or 'asset'?",
      "kind": "did you mean 'style'?", "type": "did you mean 'style'?", "count": "did you mean 'bars'?",
      "color": "the colour is a key of the overlay", "width": "the width is a key of the overlay",
      "height": "the height is a key of the overlay", "duration": "did you mean 'window'?",
      "radius": "did you mean 'cornerRadius'?", "volume": "did you mean 'gain'?",
    ],
    kind: KindKey(
      name: style.name, standard: Waveform.Style.bars.rawValue, names: Waveform.Style.allCases.map(\.rawValue)
    ) { key, kind in
      "'\(key.name)' is for the style \(list(key.kinds.map { "'\($0)'" })); this one is '\(kind)'"
    },
    rules: [
      .needsOne(of: ["track", "asset"], "a waveform needs 'track', an audio track, or 'asset', an asset with sound"),
      .excludes("asset", "track", "a waveform is that of 'track' or of 'asset', not of both"),
    ])

  static let form = Form<Document.Waveform>("object", table.reference) { reader, value in
    let found = reader.problems.count
    guard let fields = reader.fields(value, table) else { return nil }
    var waveform = Document.Waveform()
    reader.read(fields, properties, into: &waveform)
    return reader.problems.count == found ? waveform : nil
  }
}

extension Document.Waveform: WrittenObject { static var properties: [Property<Self>] { WaveformKeys.properties } }

extension OverlayKeys {
  static let waveform = Key("waveform", WaveformKeys.form, default: "required", "whose sound, and how it is drawn")
  static let waveformWidth = Key(
    "width", .frameLength(OverlayEntry.sides), default: "that of `in`, else the frame's",
    type: "length, 1 to \(PixelSize.largestSide) pixels", "")
  static let waveformHeight = Key(
    "height", .frameLength(OverlayEntry.sides), default: "that of `in`, else a quarter of the frame's",
    type: "length, 1 to \(PixelSize.largestSide) pixels", "")
  static let waveformProperties: [Property<Document.Overlay>] =
    [
      waveform.of(\.waveform), color.of(\.color), waveformWidth.of(\.width), waveformHeight.of(\.height),
    ] + commonProperties + [textRamps.of(list: \.ramps)]
}

extension Lowering {
  /// How long a sound may be in the width of a waveform, in seconds.
  private static let windows = (
    least: MediaTime(value: 1, timescale: 100), most: MediaTime(seconds: 60)
  )

  /// A picture of sound on the composition's timeline. Nil and a problem if it cannot be made.
  mutating func waveform(
    _ written: Document.Waveform, color: Color?, _ size: PixelSize, at pointer: JSONPointer
  ) -> Waveform? {
    let sound: Waveform.Sound
    if let id = written.asset {
      guard let asset = assets[id] else { return nil }
      guard let track = asset.defaultTrack(.audio) else {
        problems.add(pointer.key("asset"), "'\(id.shortened)' has no sound")
        return nil
      }
      sound = .asset(id, sourceTrack: track.index)
    } else {
      sound = .track(written.track ?? "")
    }
    var waveform = Waveform(sound, style: written.style ?? .bars, color: color ?? .white, size: size)
    if let window = written.window {
      let place = pointer.key("window")
      guard let length = resolve(window, at: place, on: .own(end: nil, "the waveform")) else { return nil }
      guard Self.windows.least <= length, length <= Self.windows.most else {
        problems.add(place, "\(seconds(length)) should be from 0.01 to 60 seconds")
        return nil
      }
      waveform.window = length
    }
    let scale = scale.approximate
    waveform.bars = written.bars ?? waveform.bars
    waveform.gap = written.gap ?? waveform.gap
    waveform.cornerRadius = (written.cornerRadius ?? waveform.cornerRadius) * scale
    waveform.lineWidth = (written.lineWidth ?? waveform.lineWidth) * scale
    waveform.gain = written.gain ?? waveform.gain
    return waveform
  }

  /// The size of a waveform in pixels of the frame.
  func waveformSize(_ size: OverlaySize, _ entry: OverlayEntry, _ frame: PixelSize) -> PixelSize {
    var own = shapeSize(size, entry, frame)
    if size.height == nil, entry.written.in == nil { own.height = max(1, frame.height / 4) }
    return own
  }
}
