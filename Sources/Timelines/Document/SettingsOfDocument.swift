import CompositionModel
import EditDocument

// What of a document a timeline does not have, in whichever format.

extension TimelineOfDocument {
  /// What a clip shows.
  struct ClipSource {
    var source: TimelineClip.Source
    /// Nil: it is not known, or has none.
    var length: Rational?
    var isStill: Bool
    var hasSound: Bool
    var isEmpty = false
  }

  func source(of clip: Document.Clip) throws(TimeError) -> ClipSource {
    if let picture = document.pictures[clip.asset] {
      let isEmpty = picture == DrawnPicture(color: DocumentOfTimeline.nothing)
      return ClipSource(source: .picture(picture), isStill: true, hasSound: false, isEmpty: isEmpty)
    }
    if let timeline = nested[clip.asset] {
      return ClipSource(
        source: .timeline(timeline), length: try timeline.duration, isStill: false,
        hasSound: timeline.tracks.contains { $0.type == .audio || $0.hasSound })
    }
    let written = document.assets[clip.asset] ?? clip.asset
    let path = written.hasPrefix("/") ? written : folder + written
    let found = facts[path]
    let isStill = found?.isStill ?? MediaPath.isStill(path)
    var reference = MediaReference(path: path)
    reference.facts = found
    if let found, !isStill {
      reference.available = MediaReference.Available(start: found.timecode ?? .zero, duration: found.duration)
    }
    return ClipSource(
      source: .media(reference), length: isStill ? nil : found?.duration, isStill: isStill,
      hasSound: found?.hasSound ?? !isStill)
  }

  mutating func noteSettings(of track: Document.MediaTrack, at place: String) {
    var lost: [String] = []
    if track.blendMode != nil { lost.append("blendMode") }
    if track.mask != nil { lost.append("mask") }
    if !track.filters.isEmpty { lost.append("filters") }
    if track.pitch != nil { lost.append("pitch") }
    for key in lost { note("\(place)/\(key)", "'\(key)' of the track", "not taken: a timeline's tracks have none") }
  }

  mutating func noteSettings(
    of clip: Document.Clip, _ source: ClipSource, _ made: TimelineClip, on track: Document.MediaTrack, at place: String
  ) {
    if case .points? = clip.speed {
      note("\(place)/speed", "'speed' of the clip", "one speed throughout, its mean: a timeline's clips have one")
    }
    if clip.loop == true { note("\(place)/loop", "'loop' of the clip", "each turn is a clip of its own") }
  }

  mutating func noteSettings() {
    let film = document.videoComposition
    for (index, transition) in film.transitions.enumerated() {
      note(
        "/videoComposition/transitions/\(index)", "the transition from '\(transition.from)' to '\(transition.to)'",
        "not taken: a timeline's transitions are between clips of one track")
    }
    for (index, overlay) in film.overlays.enumerated() {
      let name = overlay.image ?? overlay.video ?? overlay.shape?.rawValue ?? "text"
      note("/videoComposition/overlays/\(index)", "the overlay '\(name)'", "not taken: a timeline has none")
    }
    var keys: [String] = []
    if film.instructions != nil { keys.append("instructions") }
    if !film.filters.isEmpty { keys.append("filters") }
    if film.background != nil, film.background != .black { keys.append("background") }
    if film.scale != nil { keys.append("scale") }
    if film.color != nil { keys.append("color") }
    if film.toneMapping != nil { keys.append("toneMapping") }
    for key in keys { note("/videoComposition/\(key)", "'\(key)'", "not taken: a timeline has none") }
    if document.audioMix != Document.AudioMix() { note("/audioMix", "the audio mix", "not taken: a timeline has none") }
    for index in document.captions.indices {
      note("/captions/\(index)", "the captions", "not taken: a timeline has none")
    }
    if document.export != Document.Export() {
      note("/export", "the settings of the output", "not taken: a timeline has none")
    }
  }
}

extension Document.Clip {
  /// What is left besides its asset, its name, its times, its transitions and its fades.
  var withoutTimes: Document.Clip {
    var clip = self
    (clip.asset, clip.name, clip.use, clip.at) = ("", nil, nil, nil)
    (clip.duration, clip.speed, clip.reverse, clip.freeze, clip.until, clip.loop) = (nil, nil, nil, nil, nil, nil)
    (clip.transition, clip.fadeIn, clip.fadeOut, clip.in, clip.out, clip.sound) = (nil, nil, nil, nil, nil, nil)
    return clip
  }

  /// What of it is of its sound.
  var ofSound: Document.Clip {
    var clip = Document.Clip("")
    (clip.volume, clip.pan, clip.pitch, clip.track, clip.language) = (volume, pan, pitch, track, language)
    (clip.audioChannels, clip.layout, clip.audioFilters) = (audioChannels, layout, audioFilters)
    return clip
  }

  /// What of it is not of its sound.
  var ofPicture: Document.Clip {
    var clip = self
    (clip.volume, clip.pan, clip.pitch, clip.track, clip.language) = (nil, nil, nil, nil, nil)
    (clip.audioChannels, clip.layout, clip.audioFilters) = (nil, nil, [])
    return clip
  }
}
