import CompositionModel

/// How a clip plays what it uses, as written: backwards, with a speed that changes, or frozen.
struct RetimingEntry: Sendable {
  var isReversed = false
  /// Empty if the clip has one speed.
  var speed: [Document.SpeedPoint] = []
  /// Whether `speed` has every point that is written.
  var isKnown = true
  /// A time of the asset, whose picture is shown all the time.
  var freeze: Document.Time?
  /// Whether the clip of a video track with sound is silent.
  var dropsSound = false

  /// From a frozen picture to a hundred times its own speed.
  static let speeds = Rational.zero...Rational(100)
  static let greatestCount = 1000

  /// The keys that are written, other than a single speed and `sound`.
  var keys: [String] {
    (isReversed ? ["reverse"] : []) + (speed.isEmpty ? [] : ["speed"]) + (freeze == nil ? [] : ["freeze"])
  }
}

extension Document.SpeedPoint {
  static let instead = [
    "speed": "did you mean 'value'?", "time": "did you mean 'at'?",
    "over": "the speed goes linearly from the value of one point to that of the next: give 'at' and 'value'",
  ]
}

extension Document.Clip.Speed {
  /// Empty for a speed that does not change.
  var points: [Document.SpeedPoint] { if case .points(let points) = self { points } else { [] } }

  var json: JSONValue {
    switch self {
    case .constant(let speed): .rational(speed)
    case .points(let points): points.json
    }
  }
}

extension DocumentReader {
  /// One speed, or the points of a speed that changes.
  mutating func speed(_ value: JSONValue) -> Document.Clip.Speed? {
    if case .array = value.content { return .points(speedPoints(value)) }
    return rational(value, in: ClipEntry.speeds).map { .constant($0) }
  }

  private mutating func speedPoints(_ value: JSONValue) -> [Document.SpeedPoint] {
    let written = items(value, "points")
    guard (1...RetimingEntry.greatestCount).contains(written.count) else {
      problems.addShape(
        value.pointer,
        "\(written.count) points; a speed that changes has 1 to \(RetimingEntry.greatestCount) of them")
      return []
    }
    return written.compactMap { item in
      guard let fields = fields(item, SpeedPointKeys.table) else { return nil }
      let found = problems.count
      var point = Document.SpeedPoint(.one)
      point.pointer = item.pointer
      read(fields, SpeedPointKeys.properties, into: &point)
      return problems.count == found && fields.has(SpeedPointKeys.value.name) ? point : nil
    }
  }
}

extension Lowering {
  /// How a clip is played; `.some(nil)` if it is forwards at one speed. Nil if that is unknown, which is a problem.
  /// - Parameter place: where the clip starts.
  mutating func retiming(_ clip: ClipEntry, _ asset: AssetDescription, at place: MediaTime) -> Retiming?? {
    let entry = clip.retiming
    guard entry.isKnown else { return nil }
    guard !entry.speed.isEmpty else { return .some(Retiming(isReversed: entry.isReversed).orNil) }
    let pointer = clip.pointer.key("speed")
    var points: [SpeedCurve.Point] = []
    for point in entry.speed {
      guard let at = resolve(point.at ?? 0, at: point.pointer.key("at")) else { return nil }
      if let last = points.last, at <= last.at {
        problems.add(
          point.pointer, "the point at \(at) is not after the one before it, at \(last.at); points are in order of time"
        )
        return nil
      }
      points.append(SpeedCurve.Point(at: at, speed: point.value))
    }
    let curve = SpeedCurve(points: points)
    let frameDuration = frameDuration
    let times = [frameDuration, place] + (asset.tracks.map(\.timebase)).filter { $0.isNumeric }
    guard (try? curve.isExact(with: times)) == true else {
      problems.add(
        pointer,
        "the times and speeds are too finely divided to compute exactly what is shown; write them as rounder numbers"
      )
      return nil
    }
    return Retiming(isReversed: entry.isReversed, speed: curve)
  }

  /// How long a clip with a speed over time lasts if it plays all that it uses. Nil if it never does, and a problem if
  /// nothing else ends it.
  mutating func lasting(
    _ natural: MediaTime?, _ curve: SpeedCurve, isCut: Bool, at pointer: JSONPointer
  ) -> MediaTime? {
    guard let natural else { return nil }
    let frameDuration = frameDuration
    let lasting = exact(at: pointer) { () throws(TimeError) in
      try curve.duration(playing: natural.exact, frame: frameDuration)
    }
    guard let lasting else { return nil }
    if lasting == nil, !isCut {
      problems.add(
        pointer,
        "the speed ends at 0 before \(seconds(natural)) of media have been played, so the clip has no end: give its "
          + "length with 'duration' or 'until'")
    } else if lasting == .zero {
      problems.add(
        pointer,
        "\(seconds(natural)) of media are played in less than a frame of the film, so the clip has no length: use more, "
          + "or give its length with 'duration'")
      return nil
    }
    return lasting
  }

  /// Whether what a clip with a speed over time plays is there.
  mutating func checkSpeed(_ curve: SpeedCurve, _ clip: Clip, at pointer: JSONPointer) -> Bool {
    let played = exact(at: pointer.key("speed")) { () throws(TimeError) in
      (played: try curve.played(in: clip.target.duration.exact), available: try clip.source.duration.exact)
    }
    guard let (played, available) = played else { return false }
    if played <= available { return true }
    problems.add(
      pointer.key("duration"),
      "in \(seconds(clip.target.duration)) the clip plays \(plain((played.approximate * 1000).rounded() / 1000)) s of media, "
        + "more than the \(seconds(clip.source.duration)) that it uses; leave out 'duration', or lower the speed")
    return false
  }

  /// The empty part of an asset at which its picture is frozen. Nil and a problem if there is none.
  mutating func frozen(
    _ written: Document.Time, _ clip: ClipEntry, of asset: AssetDescription, _ id: AssetID
  ) -> MediaTimeRange? {
    let pointer = clip.pointer.key("freeze")
    guard let time = resolve(written, at: pointer, on: .own(end: asset.duration, "the asset")) else { return nil }
    guard time < asset.duration else {
      problems.add(
        pointer, "\(time) is not before the end of '\(id)', which is \(seconds(asset.duration)) long")
      return nil
    }
    if clip.duration == nil, clip.until == nil {
      if clip.timesAreKnown {
        problems.add(pointer, "a frozen picture has no length: give the clip's with 'duration' or 'until'")
      }
      return nil
    }
    return MediaTimeRange(emptyAt: time)
  }
}
