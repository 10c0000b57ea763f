public import CompositionModel
import EditDocument

/// How the audio tracks are mixed: AVFoundation's `AVAudioMix`. A track that is not in it plays at volume 1 as it is.
public struct AudioMix: Sendable, Hashable {
  /// A filter of sound: what AVFoundation's audio taps are used for.
  public typealias Filter = CompositionModel.AudioFilter
  /// Several filters by one name: `track.filters += Edit.AudioMix.FilterPreset.voice.filters`.
  public typealias FilterPreset = CompositionModel.AudioFilterPreset
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
