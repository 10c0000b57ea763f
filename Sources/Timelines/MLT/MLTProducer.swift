import CompositionModel

/// What plays a file, or a colour, in MLT.
struct MLTProducer: Hashable {
  var resource: String
  /// Nil: MLT finds out what plays the file.
  var service: String?
  /// What a clip of it is called. Nil: as its file is.
  var name: String?
  /// Another one is that of `timewarp`.
  var speed = Rational.one
  var keepsPitch = false
  var isSilent = false
  /// In frames. Nil: that of the file.
  var length: Int?

  func element(_ id: String) -> XMLNode {
    var properties: [(String, String)] = []
    if let length { properties.append(("length", "\(length)")) }
    if speed == .one {
      properties.append(("resource", resource))
      if let service { properties.append(("mlt_service", service)) }
    } else {
      properties += [("resource", "\(plain(speed.approximate)):\(resource)"), ("mlt_service", "timewarp")]
      if keepsPitch { properties.append(("warp_pitch", "1")) }
    }
    if isSilent { properties.append(("audio_index", "-1")) }
    if let name { properties.append(("kdenlive:clipname", name)) }
    var element = XMLNode("producer", ["id": id], MLTWriter.properties(properties))
    if let length { element.attributes += [("in", "0"), ("out", "\(length - 1)")] }
    return element
  }
}
