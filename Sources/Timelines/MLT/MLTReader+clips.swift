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
      let text = String(resource[..<colon])
      if let own = Double(text).flatMap({ TimelineRates.exact($0) }), own != .zero, own.magnitude <= Rational(1000) {
        speed = own
      } else {
        note(producer, "the speed '\(text.shortened)'", "its own speed: this is none from -1000 to 1000")
      }
      resource = String(resource[resource.index(after: colon)...])
    }
    if producer.property("kdenlive:markers").map({ !["", "[]", "[\n]"].contains($0) }) == true {
      note(producer, "the markers of '\(MediaPath.name(of: resource))'", "not taken: guides are")
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
    let label = service.hasPrefix("colo") ? "color" : MediaPath.name(of: resource)
    var clip = TimelineClip(
      name: name.isEmpty || name == resource ? label : name, source: source,
      start: try seconds(used.lowerBound) * speed.magnitude, duration: duration, place: entry.place)
    clip.motion = .speed(speed)
    if speed != .one, producer.property("warp_pitch") != "1" { clip.settings.pitch = .varispeed }
    if producer.property("audio_index") == "-1" { clip.settings.sound = .drop }
    if speed < .zero, let length = frames(producer.property("length")) {
      // It counts from the end of the media.
      clip.start = try seconds(length - used.upperBound) * speed.magnitude
    }
    for filter in entry.children("filter") + producer.children("filter") { try take(filter, &clip, shown) }
    return .clip(clip)
  }

  /// The filters that a document has: the volume, and fades.
  private mutating func take(
    _ filter: XMLElement, _ clip: inout TimelineClip, _ shown: String
  ) throws(TimeError) {
    guard filter.property("disable") != "1" else { return }
    let name =
      filter.property("kdenlive_id") ?? filter.property("shotcut:filter") ?? filter.property("mlt_service") ?? ""
    switch name {
    case "fadein", "fade_from_black", "fadeInVolume", "fadeInBrightness":
      clip.settings.fadeIn = try fade(filter, "shotcut:animIn") ?? clip.settings.fadeIn
    case "fadeout", "fade_to_black", "fadeOutVolume", "fadeOutBrightness":
      clip.settings.fadeOut = try fade(filter, "shotcut:animOut") ?? clip.settings.fadeOut
    case "freeze":
      guard let frame = frames(filter.property("frame")), filter.property("freeze_after") != "1",
        filter.property("freeze_before") != "1"
      else {
        return note(filter, "the filter 'freeze' of \(shown)", "not taken: a clip stands still all the time, or never")
      }
      clip.motion = .frozen
      clip.start = try seconds(frame)
      (clip.settings.sound, clip.settings.pitch) = (nil, nil)
    case "volume", "gain", "audioGain":
      let level = filter.property("level").flatMap { Double($0) }.map { Decibels.volume($0) }
      if let volume = level ?? filter.property("gain").flatMap({ Double($0) }), !volume.isNaN {
        if volume > 10 { note(filter, "the filter '\(name)' of \(shown)", "20 dB: a volume is at most that") }
        clip.settings.volume = .constant(min(10, max(0, volume)))
      } else {
        note(filter, "the filter '\(name)' of \(shown)", "not taken: its level changes in time")
      }
    case "audiolevel", "avfilter.loudness_meter": break
    default: note(filter, "the filter '\(name)' of \(shown)", "not taken: a document has no equal for it")
    }
  }

  /// As long as a property says, or the filter lasts. Nil, which is noted: it has no length.
  private mutating func fade(_ filter: XMLElement, _ property: String) throws(TimeError) -> Document.Fade? {
    guard let count = frames(filter.property(property)) ?? range(of: filter)?.count, count > 0 else {
      note(filter, "the fade '\(filter.property("kdenlive_id") ?? property)'", "not taken: it has no length")
      return nil
    }
    return Document.Fade(try seconds(count).documentTime)
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
