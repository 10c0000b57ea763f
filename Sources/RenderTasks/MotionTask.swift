import CompositionModel

/// Measures how the camera moves in a stretch of a track. The one input is the file, and the result is a
/// `CameraMotion` as JSON. A job has one for each stretch of its stabilized clips, before it is planned.
package struct MotionTask: Sendable, Hashable, Codable {
  /// The track, with what is needed to decode the stretch and the picture before it.
  package var source: PlannedSource
  /// The stored timestamps of the first and the last picture of the stretch.
  package var pictures: ClosedRange<Int64>

  package init(source: PlannedSource, pictures: ClosedRange<Int64>) {
    self.source = source
    self.pictures = pictures
  }
}

/// The motion in a stretch: the result of a `MotionTask`.
package struct CameraMotion: Sendable, Hashable, Codable {
  /// In order of time.
  package var steps: [MotionStep]

  package init(steps: [MotionStep]) {
    self.steps = steps
  }

  private enum CodingKeys: CodingKey {
    case steps
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    steps = try container.decode([MotionStep].self, forKey: .steps)
    guard zip(steps, steps.dropFirst()).allSatisfy({ $0.pts < $1.pts }) else {
      throw DecodingError.dataCorruptedError(
        forKey: .steps, in: container, debugDescription: "the times do not rise from step to step")
    }
  }
}

/// A picture's place, relative to another picture or to its own: whole numbers, so that sums of them are exact.
package struct MotionStep: Sendable, Hashable, Codable {
  /// The units of a pixel.
  package static let unitsOfPixel = 4096.0
  /// The units of a radian.
  package static let unitsOfRadian = 16_777_216.0
  /// The most of a picture: many times what can be found.
  private static let decoded = -(1 << 30)...(1 << 30)

  /// The stored timestamp of the picture.
  package var pts: Int64
  /// To the right, in 1/4096 of a square pixel of the stored picture.
  package var x: Int
  /// Downwards, in the same units.
  package var y: Int
  /// Clockwise around the middle, in 1/16777216 of a radian.
  package var angle: Int

  package init(pts: Int64, x: Int = 0, y: Int = 0, angle: Int = 0) {
    self.pts = pts
    self.x = x
    self.y = y
    self.angle = angle
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let fields = try container.decode([Int64].self)
    guard fields.count == 4, fields.prefix(1).allSatisfy({ StoredTime.ticks.contains($0) }),
      fields.dropFirst().allSatisfy({ Self.decoded.contains(Int($0)) })
    else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "\(fields) is not [time, x, y, angle] within their ranges")
    }
    self.init(pts: fields[0], x: Int(fields[1]), y: Int(fields[2]), angle: Int(fields[3]))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode([pts, Int64(x), Int64(y), Int64(angle)])
  }
}

/// How the pictures of a source are enlarged and moved before they are used. A point that is seen at a place, from the
/// middle of what is shown of the picture, is in the stored picture at that place divided by `zoom`, turned by the
/// step's angle, and then moved by its x and y.
package struct PlannedStabilization: Sendable, Hashable, Codable {
  package var zoom: Double
  /// Of the pictures that the segment shows, and of one on either side, in order of time. Pictures without one are
  /// enlarged only.
  package var places: [MotionStep]

  package init(zoom: Double, places: [MotionStep]) {
    self.zoom = zoom
    self.places = places
  }

  /// The place of a picture by its stored timestamp.
  package func place(of pts: Int64) -> MotionStep {
    let index = places.partitionPoint { pts <= $0.pts }
    return index < places.count && places[index].pts == pts ? places[index] : MotionStep(pts: pts)
  }
}
