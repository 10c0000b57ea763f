public import CompositionModel
import EditDocument

/// How the audio tracks are mixed: AVFoundation's `AVAudioMix`. A track that is not in it plays at volume 1 as it is.
public struct AudioMix: Sendable, Hashable {
  /// A filter of sound: what AVFoundation's audio taps are used for.
  public typealias Filter = CompositionModel.AudioFilter
  /// Lowers a track while another is heard.
  public typealias Ducking = CompositionModel.Ducking
  public typealias DuckingLevels = CompositionModel.DuckingLevels
  /// Integrated loudness and true peak, by EBU R 128.
  public typealias LoudnessTarget = CompositionModel.LoudnessTarget

  /// What is changed of one track's sound: AVFoundation's `AVAudioMixInputParameters`. Ramps are on the composition's
  /// timeline.
  public struct InputParameters: Sendable, Hashable {
    /// 0 is silence, 1 leaves the samples as they are; at most 10. It is 1 before the first ramp.
    public var volume: RampList
    /// -1 is the left speakers alone, 1 the right ones alone, 0 leaves the samples as they are. Before the first ramp
    /// it is what that ramp starts with. Empty: 0.
    public var pan: RampList
    /// Applied in order, before the volume.
    public var filters: [Filter]
    /// Nil: no other track has an effect on the volume.
    public var ducking: Ducking?

    public init(
      volume: RampList = .one, pan: RampList = RampList(), filters: [Filter] = [], ducking: Ducking? = nil
    ) {
      self.volume = volume
      self.pan = pan
      self.filters = filters
      self.ducking = ducking
    }
  }

  public var inputParameters: [TrackID: InputParameters]
  /// What the loudness of the whole film becomes. Nil: as it is mixed.
  public var loudness: LoudnessTarget?

  public init(inputParameters: [TrackID: InputParameters] = [:], loudness: LoudnessTarget? = nil) {
    self.inputParameters = inputParameters
    self.loudness = loudness
  }

  /// The volume of a level in decibels, which documents write as `"-6dB"`: 10 to the power of a twentieth of it.
  public static func volume(decibels: Double) -> Double { Decibels.volume(decibels) }

  /// Sets the volume of a track at a time. It holds until the next ramp.
  public mutating func setVolume(_ volume: Double, of track: TrackID, at time: MediaTime = .zero) throws(TimeError) {
    try inputParameters[track, default: InputParameters()].volume.set(volume, at: time)
  }

  /// Changes the volume of a track over a range, to the sample. The end's volume holds until the next ramp.
  public mutating func setVolumeRamp(
    of track: TrackID, from start: Double, to end: Double, over range: MediaTimeRange, easing: Easing? = nil
  ) {
    inputParameters[track, default: InputParameters()].volume.addRamp(
      from: start, to: end, over: range, easing: easing)
  }

  /// Sets the pan of a track at a time, -1…1. It holds until the next ramp.
  public mutating func setPan(_ pan: Double, of track: TrackID, at time: MediaTime = .zero) throws(TimeError) {
    try inputParameters[track, default: InputParameters()].pan.set(pan, at: time)
  }

  /// Changes the pan of a track over a range, to the sample. The end's pan holds until the next ramp.
  public mutating func setPanRamp(
    of track: TrackID, from start: Double, to end: Double, over range: MediaTimeRange, easing: Easing? = nil
  ) {
    inputParameters[track, default: InputParameters()].pan.addRamp(from: start, to: end, over: range, easing: easing)
  }

  /// Lowers a track while another audio track is heard.
  public mutating func duck(_ track: TrackID, under other: TrackID, levels: DuckingLevels = DuckingLevels()) {
    inputParameters[track, default: InputParameters()].ducking = Ducking(under: other, levels: levels)
  }
}

extension RampList {
  /// Sets the value at a time. A ramp that starts at the same time is replaced.
  public mutating func set(_ value: Double, at time: MediaTime) throws(TimeError) {
    addRamp(from: value, to: value, over: try MediaTimeRange(start: time, duration: .zero))
  }

  /// Adds a ramp, in order of time. One that starts at the same time is replaced. Ramps that overlap are a problem of
  /// the edit, which `Edit.validate(against:)` reports.
  public mutating func addRamp(
    from start: Double, to end: Double, over range: MediaTimeRange, easing: Easing? = nil
  ) {
    let index = ramps.firstIndex { range.start <= $0.over.start } ?? ramps.count
    if index < ramps.count, ramps[index].over.start == range.start { ramps.remove(at: index) }
    // A document has no linear easing but the absent one.
    ramps.insert(Ramp(over: range, from: start, to: end, easing: easing == .linear ? nil : easing), at: index)
  }
}

extension ValueRampList {
  /// Sets the value at a time. A ramp that starts at the same time is replaced.
  public mutating func set(_ value: Value, at time: MediaTime) throws(TimeError) {
    addRamp(from: value, to: value, over: try MediaTimeRange(start: time, duration: .zero))
  }

  /// Adds a ramp, in order of time. One that starts at the same time is replaced.
  public mutating func addRamp(from start: Value, to end: Value, over range: MediaTimeRange, easing: Easing? = nil) {
    let index = ramps.firstIndex { range.start <= $0.over.start } ?? ramps.count
    if index < ramps.count, ramps[index].over.start == range.start { ramps.remove(at: index) }
    ramps.insert(ValueRamp(over: range, from: start, to: end, easing: easing == .linear ? nil : easing), at: index)
  }
}

// MARK: In a document

extension AudioMix {
  /// The member of a document's mix that is no track, unless a track has this name.
  private static let loudnessKey = "loudness"

  /// - Parameter tracks: The tracks of the document.
  init(_ value: JSONValue, tracks: [CompositionTrack]) throws(DocumentError) {
    self.init()
    for (track, written) in try value.members {
      if track == Self.loudnessKey, !tracks.contains(where: { $0.id == track }) {
        loudness = try LoudnessTarget(written)
      } else {
        inputParameters[track] = try InputParameters(written)
      }
    }
  }

  /// Throws, with places below that of the mix, if the loudness of the film and a track of that name exclude each
  /// other.
  /// - Parameter tracks: The tracks of the document.
  func written(tracks: [CompositionTrack]) throws(DocumentError) -> JSONValue {
    let isTrack = tracks.contains { $0.id == Self.loudnessKey }
    guard isTrack ? loudness == nil : inputParameters[Self.loudnessKey] == nil else {
      let message =
        isTrack
        ? "the film has a loudness, which a document cannot have beside a track 'loudness': give the track another name"
        : "there is no audio track 'loudness'"
      throw DocumentError(problems: [Problem(pointer: "/\(Self.loudnessKey)", message: message)])
    }
    var members: [(String, JSONValue?)] = []
    for (track, parameters) in inputParameters { members.append((track, try parameters.written())) }
    members.append((Self.loudnessKey, try loudness.written { (target) throws(DocumentError) in try target.written() }))
    return .object(members)
  }
}

extension AudioMix.InputParameters: DocumentValue {
  init(_ value: JSONValue) throws(DocumentError) {
    self.init()
    switch value.content {
    case .number, .string: volume = try .constant(value, "volume")
    case .object:
      let fields = try value.fields("a track's mix", ["volume", "pan", "filters", "duck"])
      volume = try Self.ramps(fields["volume"], "volume")
      pan = try Self.ramps(fields["pan"], "pan")
      filters = try fields.list("filters")
      ducking = try fields.read("duck") { (value) throws(DocumentError) in try AudioMix.Ducking(value) }
    default:
      for item in try value.items {
        let fields = try item.fields("a ramp of volume or pan", ["over", "at", "easing", "volume", "pan"])
        if fields["pan"] != nil { try pan.append(fields, "pan") }
        if fields["volume"] != nil || fields["pan"] == nil { try volume.append(fields, "volume") }
      }
    }
  }

  private static func ramps(_ value: JSONValue?, _ key: String) throws(DocumentError) -> RampList {
    guard let value else { return RampList() }
    switch value.content {
    case .number, .string: return try .constant(value, key)
    default: return try RampList(value, key)
    }
  }

  func written() throws(DocumentError) -> JSONValue {
    let writtenVolume = volume.writtenValue("volume")
    if pan.ramps.isEmpty, filters.isEmpty, ducking == nil { return writtenVolume }
    return .object([
      ("volume", volume.ramps.isEmpty ? nil : writtenVolume),
      ("pan", pan.ramps.isEmpty ? nil : pan.writtenValue("pan")),
      try JSONValue.member("filters", filters),
      ("duck", try ducking.written { (ducking) throws(DocumentError) in try ducking.written() }),
    ])
  }
}

extension AudioFilter: DocumentValue {
  init(_ value: JSONValue) throws(DocumentError) {
    guard let written = try value.members.first(where: { $0.key == "kind" })?.value else {
      throw value.problem("a filter of sound of an edit needs 'kind'")
    }
    let kind: AudioFilterKind = try written.choice("kind of filter of sound")
    let fields = try value.fields("a filter '\(kind.rawValue)'", ["kind"] + kind.parameters.map(\.key))
    var values: [Double] = []
    for parameter in kind.parameters {
      if let standard = parameter.standard, fields[parameter.key] == nil {
        values.append(standard)
      } else {
        let written = try fields.required(parameter.key)
        values.append(AudioFilterKind.levels.contains(parameter.key) ? try written.decibels : try written.number)
      }
    }
    self.init(kind, values)
  }

  func written() throws(DocumentError) -> JSONValue {
    .object([("kind", .text(kind.rawValue))] + zip(kind.parameters, values).map { ($0.key, .number($1)) })
  }
}

extension Ducking: DocumentValue {
  init(_ value: JSONValue) throws(DocumentError) {
    let fields = try value.fields("'duck'", ["under", "by", "threshold", "attack", "hold", "release"])
    let standard = DuckingLevels()
    self.init(
      under: try fields.required("under").text,
      levels: DuckingLevels(
        by: try fields.decibels("by") ?? standard.by,
        threshold: try fields.decibels("threshold") ?? standard.threshold,
        attack: try fields.number("attack") ?? standard.attack, hold: try fields.number("hold") ?? standard.hold,
        release: try fields.number("release") ?? standard.release))
  }

  func written() throws(DocumentError) -> JSONValue {
    .object([
      ("under", .text(under)), ("by", .number(levels.by)), ("threshold", .number(levels.threshold)),
      ("attack", .number(levels.attack)), ("hold", .number(levels.hold)), ("release", .number(levels.release)),
    ])
  }
}

extension LoudnessTarget: DocumentValue {
  init(_ value: JSONValue) throws(DocumentError) {
    let fields = try value.fields("'loudness'", ["target", "truePeak"])
    let target = try fields.required("target").number
    self.init(target: target)
    truePeak = try fields.decibels("truePeak") ?? truePeak
  }

  func written() throws(DocumentError) -> JSONValue {
    .object([("target", .number(target)), ("truePeak", .number(truePeak))])
  }
}
