import CompositionModel
import EditDocument

// The clips of storylines.

extension FCPXMLWriter {
  mutating func element(
    _ clip: TimelineClip, at place: Rational, on track: TimelineTrack
  ) throws(TimeError) -> Element {
    var clip = clip
    let isOfSound = track.type == .audio
    var node: XMLNode
    var canBeSilent = true
    switch clip.source {
    case .picture(let picture):
      if picture != DrawnPicture(color: .black) {
        notes.add(clip.place, "the drawn picture of '\(clip.name)'", "a gap: what draws it is in Final Cut Pro alone")
      }
      noteSettings(clip.settings, of: clip, except: [])
      let node = XMLNode("gap", Self.timing(place, clip.name, .zero, clip.duration))
      return Element(node: node, place: place, start: .zero)
    case .timeline(let timeline):
      node = XMLNode("ref-clip", ["ref": try compound(timeline)])
      if isOfSound, !track.name.isEmpty {
        notes.add(clip.place, "the role of the sound of '\(clip.name)'", "not taken: it has those in its compound clip")
      }
    case .media(let reference):
      let isStill = reference.facts?.isStill ?? MediaPath.isStill(reference.path)
      let asset = try resources.asset(reference, isStill: isStill, hasPicture: !isOfSound)
      node = XMLNode(isStill ? "video" : "asset-clip", ["ref": asset])
      canBeSilent = !isStill && reference.facts?.hasSound != false && reference.facts?.hasPicture != false
      if isStill { (clip.start, clip.motion) = (.zero, .speed(.one)) }
    }
    let isSilent = clip.settings.sound == .drop || !track.hasSound
    // A picture that stands still has no sound.
    if canBeSilent, isOfSound || isSilent, clip.motion != .frozen {
      node.attributes.append(("srcEnable", isOfSound ? "audio" : "video"))
    }
    var start = clip.start
    if clip.motion != .speed(.one) {
      start = .zero
      node.children.append(try timeMap(clip))
    }
    for (name, value) in Self.timing(place, clip.name, start, clip.duration) {
      if let value { node.attributes.append((name, value)) }
    }
    if isOfSound, !track.name.isEmpty, node.name == "asset-clip" { node.attributes.append(("audioRole", track.name)) }
    node.children += adjustments(of: clip, isOfSound: isOfSound, isHeard: isOfSound || !isSilent)
    return Element(node: node, place: place, start: start)
  }

  /// From the clip's own time, which begins at zero, to that of its media.
  private func timeMap(_ clip: TimelineClip) throws(TimeError) -> XMLNode {
    let length = try clip.duration * clip.speed.magnitude
    let first = try clip.speed < .zero ? clip.start + length : clip.start
    let last = try first + clip.duration * clip.speed
    func point(_ time: Rational, _ value: Rational) -> XMLNode {
      XMLNode(
        "timept", ["time": FCPXMLTime.text(time), "value": FCPXMLTime.text(value), "interp": "linear"])
    }
    return XMLNode("timeMap", [:], [point(.zero, first), point(clip.duration, last)])
  }

  // MARK: Look and sound

  /// In the order of the format.
  private mutating func adjustments(of clip: TimelineClip, isOfSound: Bool, isHeard: Bool) -> [XMLNode] {
    var (nodes, taken): ([XMLNode], Set<String>) = ([], ["sound", "fadeIn", "fadeOut"])
    let settings = clip.settings
    if !isOfSound, let fit = settings.fit {
      let types: [Fit: String] = [.contain: "fit", .cover: "fill", .none: "none"]
      if let type = types[fit] {
        taken.insert("fit")
        nodes.append(XMLNode("adjust-conform", ["type": type]))
      }
    }
    let fades = [settings.fadeIn.map { ("fadeIn", $0) }, settings.fadeOut.map { ("fadeOut", $0) }].compactMap(\.self)
    let shapes: [XMLNode] = fades.compactMap { name, fade in
      if fade.curve == .equalPower {
        notes.add(clip.place, "the curve of '\(name)' of '\(clip.name)'", "linear: FCPXML has other curves")
      }
      guard case .seconds(let duration) = fade.duration else { return nil }
      return XMLNode(name, ["type": "linear", "duration": "\(duration)s"])
    }
    let change = shapes.isEmpty ? [] : [XMLNode("param", ["name": "amount"], shapes)]
    if !isOfSound, settings.opacity != nil || !change.isEmpty {
      taken.insert("opacity")
      nodes.append(XMLNode("adjust-blend", ["amount": plain(settings.opacity ?? 1)], change))
    }
    if !isOfSound, let stabilize = settings.stabilize {
      taken.insert("stabilize")
      nodes.append(XMLNode("adjust-stabilization", ["type": "automatic"]))
      if stabilize != Document.Stabilize() {
        notes.add(
          "\(clip.place)/stabilize", "how '\(clip.name)' is stabilized",
          "not taken: Final Cut Pro has a rule of its own")
      }
    }
    if isHeard {
      var amount: Double?
      if case .constant(let volume)? = settings.volume {
        taken.insert("volume")
        amount = volume
      }
      if amount != nil || !change.isEmpty {
        nodes.append(XMLNode("adjust-volume", ["amount": FCPXMLLevel.text(amount ?? 1)], change))
      }
    }
    noteSettings(settings, of: clip, except: taken)
    return nodes
  }

  private mutating func noteSettings(_ settings: Document.Clip, of clip: TimelineClip, except taken: Set<String>) {
    for key in settings.writtenKeys where !taken.contains(key) {
      notes.add("\(clip.place)/\(key)", "'\(key)' of the clip '\(clip.name)'", "not taken: FCPXML has no equal for it")
    }
  }
}
