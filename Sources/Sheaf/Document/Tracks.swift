import CompositionModel
import EditDocument

// The tracks of a composition as those of a document. Each clip has its place, and the part of its asset that it plays.

extension JSONValue {
  /// The type of a track, which is that of pictures if it is not written.
  var trackType: MediaType {
    get throws(DocumentError) {
      guard let written = try members.first(where: { $0.key == "type" })?.value else { return .video }
      return try written.choice("track type")
    }
  }
}

extension AssetDescription {
  /// A track by its number among those of its type, from 0. Without one, the default track of the type.
  func track(_ type: MediaType, number: Int?) -> TrackDescription? {
    guard let number else { return defaultTrack(type) }
    let tracks = tracks.filter { $0.type == type }
    return tracks.indices.contains(number) ? tracks[number] : nil
  }
}

extension CompositionTrack: WritableValue {
  init(
    _ value: JSONValue, _ type: MediaType, _ descriptions: [AssetID: AssetDescription]
  ) throws(DocumentError) {
    let fields = try value.fields("a track", ["id", "type", "clips"])
    self.init(id: try fields.required("id").text, type: type)
    clips = try fields.required("clips").list { (item) throws(DocumentError) in try Clip(item, type, descriptions) }
  }

  func written() throws(DocumentError) -> JSONValue {
    var written: [JSONValue] = []
    for clip in clips {
      do { written.append(try clip.written(type)) } catch { throw error.below("/clips/\(written.count)") }
    }
    return .object([("id", .text(id)), ("type", .text(type.rawValue)), ("clips", .array(written))])
  }
}

extension Clip {
  private static let keys = [
    "asset", "track", "use", "freeze", "at", "duration", "deinterlace", "alpha", "reverse", "speed", "pitch", "layout",
    "pan", "audioFilters",
  ]

  fileprivate init(
    _ value: JSONValue, _ type: MediaType, _ descriptions: [AssetID: AssetDescription]
  ) throws(DocumentError) {
    let fields = try value.fields("a clip", Self.keys)
    let asset = try fields.required("asset")
    guard let description = descriptions[try asset.text], description.defaultTrack(type) != nil else {
      throw asset.problem("\(asset.shown) has no \(type) track, or is not described")
    }
    let number = try fields.integer("track")
    guard let source = description.track(type, number: number) else {
      throw value.problem("\(asset.shown) has no \(type) track \(number ?? 0)")
    }
    let target: MediaTimeRange
    do {
      target = try MediaTimeRange(
        placing: try fields.required("at").time.place, lasting: try fields.required("duration").time)
    } catch let error as DocumentError {
      throw error
    } catch {
      throw value.problem("\(error)")
    }
    // A still picture, or a frozen one, is an empty part.
    let moment = try fields.read("freeze") { (value) throws(DocumentError) in try value.moment(value.time) }
    let part = try fields.read("use") { (value) throws(DocumentError) in try value.range }
    guard let part = part ?? moment else { throw value.problem("a clip of an edit needs 'use' or 'freeze'") }
    self.init(asset: try asset.text, sourceTrack: source.index, source: part, target: target)
    trackNumber = number
    deinterlace = try fields.flag("deinterlace").map { $0 ? .always : .never }
    alpha = try fields.choice("alpha", "alpha")
    let points = try fields.read("speed") { (value) throws(DocumentError) in
      try value.list { (point) throws(DocumentError) in try SpeedCurve.Point(point) }
    }
    let isReversed = try fields.flag("reverse") ?? false
    if isReversed || points != nil {
      retiming = Retiming(isReversed: isReversed, speed: points.map { SpeedCurve(points: $0) })
    }
    pitch = try fields.choice("pitch", "pitch algorithm")
    layout = try fields.choice("layout", "layout of speakers")
    pan = try fields.read("pan") { (value) throws(DocumentError) in try Self.pan(value, from: target.start) }
    audioFilters = try fields.read("audioFilters") { (value) throws(DocumentError) in try value.list() }
  }

  fileprivate func written(_ type: MediaType) throws(DocumentError) -> JSONValue {
    if type == .video, trackNumber != nil {
      let message = "a document plays the default video track of '\(asset)', and not track \(sourceTrack)"
      throw DocumentError(problems: [Problem(pointer: "", message: message)])
    }
    return .object([
      ("asset", .text(asset)), ("track", trackNumber.map { .integer($0) }),
      source.isEmpty ? ("freeze", .time(source.start)) : ("use", .range(source)), ("at", .time(target.start)),
      ("duration", .time(target.duration)), ("deinterlace", deinterlace.map { .flag($0 == .always) }),
      ("alpha", alpha.map { .text($0.rawValue) }), ("reverse", retiming?.isReversed == true ? .flag(true) : nil),
      ("speed", retiming?.speed.map { curve in .array(curve.points.map(\.written)) }),
      ("pitch", pitch.map { .text($0.rawValue) }), ("layout", layout.map { .text($0.rawValue) }),
      try JSONValue.member("pan") { () throws(DocumentError) in
        try pan.written { (pan) throws(DocumentError) in try self.written(pan) }
      },
      (
        "audioFilters",
        try audioFilters.written { (filters) throws(DocumentError) in .array(try JSONValue.written(filters)) }
      ),
    ])
  }

  // MARK: Pan

  /// A number, or ramps on the clip's own time.
  private static func pan(_ value: JSONValue, from start: MediaTime) throws(DocumentError) -> RampList {
    if case .number = value.content { return try .constant(value, "value") }
    let ramps = try RampList(value, "value")
    do { return try ramps.shifted(by: start) } catch { throw value.problem("\(error)") }
  }

  /// Before its first ramp a document's pan is what that ramp starts with, so a value from the beginning on is written
  /// only if it is the whole.
  private func written(_ pan: RampList) throws(DocumentError) -> JSONValue {
    if let constant = pan.constant, !pan.ramps.isEmpty { return .number(constant) }
    var ramps = pan.ramps
    if ramps.count > 1, ramps[0].over == MediaTimeRange(emptyAt: RampList.earliest), ramps[0].to == ramps[1].from {
      ramps.removeFirst()
    }
    do {
      return .array(try RampList(ramps).shifted(by: MediaTime.zero.subtracting(target.start)).written("value"))
    } catch {
      throw DocumentError(problems: [Problem(pointer: "", message: "\(error)")])
    }
  }
}

extension MetadataTrack: DocumentValue {
  init(_ value: JSONValue) throws(DocumentError) {
    let fields = try value.fields("a metadata track", ["id", "type", "values"])
    self.init(
      id: try fields.required("id").text,
      items: try fields.required("values").list { (item) throws(DocumentError) in try TimedMetadata(item) })
  }

  func written() throws(DocumentError) -> JSONValue {
    .object([
      ("id", .text(id)), ("type", .text(MediaType.metadata.rawValue)),
      (
        "values",
        .array(
          items.map { item in
            let value: JSONValue =
              switch item.content {
              case .text(let text): .text(text)
              case .number(let from, let to): from == to ? .number(from) : .numbers([from, to])
              }
            return .object([("over", .range(item.over)), ("value", value)])
          })
      ),
    ])
  }
}

extension TimedMetadata {
  fileprivate init(_ value: JSONValue) throws(DocumentError) {
    let fields = try value.fields("a value of a metadata track", ["over", "value"])
    let written = try fields.required("value")
    let content: Content
    switch written.content {
    case .string(let text): content = .text(text)
    case .array:
      let ends = try written.items(2, "the numbers at the start and at the end of 'over'")
      content = .number(from: try ends[0].number, to: try ends[1].number)
    default:
      let number = try written.number
      content = .number(from: number, to: number)
    }
    self.init(over: try fields.required("over").range, content)
  }
}

extension SpeedCurve.Point {
  fileprivate init(_ value: JSONValue) throws(DocumentError) {
    let fields = try value.fields("a point of a speed", ["at", "value"])
    let written = try fields.required("value")
    guard let speed = written.speed else {
      throw written.problem("\(written.shown) should be a fraction such as \"1/3\"")
    }
    self.init(at: try fields.required("at").time, speed: speed)
  }

  fileprivate var written: JSONValue { .object([("at", .time(at)), ("value", .speed(speed))]) }
}

extension JSONValue {
  /// A number if it is whole, and otherwise a fraction such as "1/3".
  fileprivate static func speed(_ speed: Rational) -> JSONValue {
    speed == Rational(speed.floor) ? JSONValue(content: .number("\(speed)")) : .text("\(speed)")
  }

  /// Nil if it is none.
  fileprivate var speed: Rational? {
    switch content {
    case .number(let text), .string(let text): try? MediaTime(notation: text)?.exact
    default: nil
    }
  }

  fileprivate func moment(_ time: MediaTime) throws(DocumentError) -> MediaTimeRange {
    do { return try MediaTimeRange(start: time, duration: .zero) } catch { throw problem("\(error)") }
  }
}
