import CompositionModel
import EditDocument

// Producers as clips, and their filters.

extension MLTReader {
  /// - Parameter used: Frames of the producer.
  mutating func clip(_ entry: XMLElement, _ producer: XMLElement, _ used: Range<Int>) throws(TimeError) -> TimelineItem
  {
    let service = producer.property("mlt_service") ?? "avformat"
    var resource = producer.property("resource") ?? ""
    var speed = Rational.one
    if service == "timewarp", let colon = resource.firstIndex(of: ":") {
      speed = TimelineRates.decimal(resource[..<colon]) ?? .one
      resource = String(resource[resource.index(after: colon)...])
    }
    let name =
      producer.property("kdenlive:clipname") ?? producer.property("shotcut:caption") ?? MediaPath.name(of: resource)
    let shown = "the clip '\(name.isEmpty ? producer["id"] ?? "" : name)'"
    let duration = try seconds(used.count)
    var source: TimelineClip.Source
    switch service {
    case "color", "colour":
      guard let color = MLTColors.color(resource) else {
        note(producer, shown, "a gap: '\(resource.shortened)' is no colour that is read")
        return .gap(duration)
      }
      source = .picture(DrawnPicture(color: color))
    case "timewarp": source = .media(MediaReference(path: resource))
    case let service where service.hasPrefix("avformat") || ["qimage", "pixbuf"].contains(service):
      guard !resource.contains(".all."), !resource.contains("%") else {
        note(producer, shown, "a gap: files of one picture each have to become a movie first")
        return .gap(duration)
      }
      source = .media(MediaReference(path: producer.property("kdenlive:originalurl") ?? resource))
    default:
      note(producer, shown, "a gap: what '\(service)' makes is in MLT alone")
      return .gap(duration)
    }
    // MLT counts from the first picture, whichever timecode the file has.
    if case .media(var reference) = source {
      reference.available = MediaReference.Available(start: .zero, duration: nil)
      source = .media(reference)
    }
    let label = service.hasPrefix("color") ? "color" : MediaPath.name(of: resource)
    var clip = TimelineClip(
      name: name.isEmpty || service == "color" ? label : name, source: source,
      start: try seconds(used.lowerBound) * speed.magnitude, duration: duration, place: entry.place)
    if speed != .zero { clip.motion = .speed(speed) }
    if speed < .zero, let length = frames(producer.property("length")) {
      // It counts from the end of the media.
      clip.start = try seconds(length - used.upperBound) * speed.magnitude
    }
    for filter in entry.children("filter") + producer.children("filter") { take(filter, &clip, shown) }
    return .clip(clip)
  }

  /// The filters that a document has: the volume, and fades.
  private mutating func take(_ filter: XMLElement, _ clip: inout TimelineClip, _ shown: String) {
    guard filter.property("disable") != "1" else { return }
    let name =
      filter.property("kdenlive_id") ?? filter.property("shotcut:filter") ?? filter.property("mlt_service") ?? ""
    let length = range(of: filter).flatMap { try? seconds($0.count).documentTime }
    let (fadeIn, fadeOut) = (
      animation(filter, "shotcut:animIn") ?? length, animation(filter, "shotcut:animOut") ?? length
    )
    switch name {
    case "fadein", "fade_from_black", "fadeInVolume", "fadeInBrightness":
      clip.settings.fadeIn = fadeIn.map { Document.Fade($0) }
    case "fadeout", "fade_to_black", "fadeOutVolume", "fadeOutBrightness":
      clip.settings.fadeOut = fadeOut.map { Document.Fade($0) }
    case "volume", "gain", "audioGain":
      let level = filter.property("level").flatMap { Double($0) }.map { Decibels.volume($0) }
      if let volume = level ?? filter.property("gain").flatMap({ Double($0) }) {
        clip.settings.volume = .constant(max(0, volume))
      } else {
        note(filter, "the filter '\(name)' of \(shown)", "not taken: its level changes in time")
      }
    case "audiolevel", "avfilter.loudness_meter": break
    default: note(filter, "the filter '\(name)' of \(shown)", "not taken: a document has no equal for it")
    }
  }

  private func animation(_ filter: XMLElement, _ property: String) -> Document.Time? {
    guard let count = frames(filter.property(property)), count > 0 else { return nil }
    return try? seconds(count).documentTime
  }
}

/// The colours of MLT's properties.
enum MLTColors {
  /// `#rrggbb`, `#aarrggbb`, `0xrrggbbaa`, and some names. Nil: it is none of them.
  static func color(_ text: String) -> Color? {
    let names: [String: Color] = [
      "black": .black, "white": .white, "red": Color(red: 255, green: 0, blue: 0),
      "green": Color(red: 0, green: 255, blue: 0), "blue": Color(red: 0, green: 0, blue: 255),
    ]
    if let named = names[text.lowercased()] { return named }
    if text == "0" { return .black }
    if text.hasPrefix("0x") { return Color(hexadecimal: "#" + text.dropFirst(2)) }
    // Alpha comes first.
    if text.hasPrefix("#"), text.count == 9 {
      return Color(hexadecimal: "#" + text.dropFirst(3) + text.dropFirst().prefix(2))
    }
    return Color(hexadecimal: text)
  }
}
