public import CompositionModel

/// The volume of each audio track over time: AVFoundation's `AVAudioMix`. A track that is not in it plays at volume 1.
public struct AudioMix: Sendable, Hashable {
  /// What is changed of one track's sound: AVFoundation's `AVAudioMixInputParameters`.
  public struct InputParameters: Sendable, Hashable {
    /// 0 is silence, 1 leaves the samples as they are; at most 10. On the composition's timeline. It is 1 before the
    /// first ramp.
    public var volume: RampList

    public init(volume: RampList = .one) {
      self.volume = volume
    }
  }

  public var inputParameters: [TrackID: InputParameters]

  public init(inputParameters: [TrackID: InputParameters] = [:]) {
    self.inputParameters = inputParameters
  }

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

extension AudioMix: DocumentValue {
  init(_ value: JSONValue) throws(DocumentError) {
    self.init()
    for (track, written) in try value.members {
      if case .number = written.content {
        inputParameters[track] = InputParameters(volume: try .constant(written))
      } else {
        inputParameters[track] = InputParameters(volume: try RampList(written, "volume"))
      }
    }
  }

  func written() throws(DocumentError) -> JSONValue {
    var members: [(String, JSONValue?)] = []
    for (track, parameters) in inputParameters {
      let volume = parameters.volume
      if let constant = volume.constant, !volume.ramps.isEmpty {
        members.append((track, try .number(constant)))
      } else {
        members.append((track, .array(try volume.written("volume"))))
      }
    }
    return .object(members)
  }
}
