import CompositionModel
import EditDocument

// The tracks of a composition as those of a document. Each clip has its place, and the part of its asset that it plays.

extension AssetDescription {
  /// A track by its number among those of its type, from 0. Without one, the default track of the type.
  func track(_ type: MediaType, number: Int?) -> TrackDescription? {
    guard let number else { return defaultTrack(type) }
    let tracks = tracks.filter { $0.type == type }
    return tracks.indices.contains(number) ? tracks[number] : nil
  }
}

extension CompositionTrack {
  /// Nil if the track or a clip has what a composition cannot hold, such as a place that follows from another clip.
  init?(_ track: Document.MediaTrack, _ descriptions: [AssetID: AssetDescription]) {
    let type = track.type ?? .video
    // The sound of a composition is on audio tracks.
    let isSilent = { track.clips.allSatisfy { descriptions[$0.asset]?.defaultTrack(.audio) == nil } }
    let isPicture = type == .audio || track.sound == false || track.sound == nil && isSilent()
    let isPlain = isPicture && track.pitch == nil && track.blendMode == nil && track.mask == nil
    guard isPlain, track.filters.isEmpty, let id = track.id,
      let clips = track.clips.all({ Clip($0, type, descriptions) })
    else { return nil }
    self.init(id: id, type: type)
    self.clips = clips
  }

  func written() throws(DocumentError) -> Document.MediaTrack {
    let clips = try below("/clips") { () throws(DocumentError) in
      try Sheaf.written(self.clips) { (clip: Clip) throws(DocumentError) in try clip.written(type) }
    }
    var track = Document.MediaTrack(type, id: id, clips: clips)
    if type == .video { track.sound = false }
    return track
  }
}

extension Clip {
  /// Nil if it has no place or no part of its asset of its own, or more than a clip of a composition can have.
  fileprivate init?(_ clip: Document.Clip, _ type: MediaType, _ descriptions: [AssetID: AssetDescription]) {
    var plain = Document.Clip(clip.asset, use: clip.use, at: clip.at)
    (plain.duration, plain.freeze, plain.track, plain.reverse) = (clip.duration, clip.freeze, clip.track, clip.reverse)
    (plain.pitch, plain.layout, plain.pan, plain.audioFilters) = (clip.pitch, clip.layout, clip.pan, clip.audioFilters)
    (plain.volume, plain.audioChannels) = (clip.volume, clip.audioChannels)
    (plain.speed, plain.deinterlace, plain.alpha) = (clip.speed, clip.deinterlace, clip.alpha)
    plain.stabilize = clip.stabilize
    guard plain == clip, let source = descriptions[clip.asset]?.track(type, number: clip.track),
      let at = clip.at?.inSeconds, let duration = clip.duration?.inSeconds,
      let target = try? MediaTimeRange(placing: at.place, lasting: duration),
      let moment = clip.freeze.converted({ $0.inSeconds.flatMap { try? MediaTimeRange(start: $0, duration: .zero) } }),
      let part = clip.use.converted({ $0.inSeconds }), let used = part ?? moment,
      let pan = clip.pan.converted({ Self.level($0, from: target.start) }),
      let volume = clip.volume.converted({ Self.level($0, from: target.start) })
    else { return nil }
    self.init(asset: clip.asset, sourceTrack: source.index, source: used, target: target)
    switch clip.speed {
    case nil: if clip.reverse == true { retiming = Retiming(isReversed: true, speed: nil) }
    case .points(let points):
      guard
        let read = points.all({ point in (point.at ?? 0).inSeconds.map { SpeedCurve.Point(at: $0, speed: point.value) }
        })
      else { return nil }
      retiming = Retiming(isReversed: clip.reverse ?? false, speed: SpeedCurve(points: read))
    case .constant: return nil
    }
    switch clip.deinterlace {
    case nil, .auto: break
    case .always: deinterlace = .always
    case .never: deinterlace = .never
    }
    if let written = clip.stabilize {
      var stabilization = Stabilization(zoom: written.zoom)
      if let smoothing = written.smoothing {
        guard let length = smoothing.inSeconds else { return nil }
        stabilization.smoothing = length
      }
      self.stabilization = stabilization
    }
    (trackNumber, alpha, pitch, layout, self.pan) = (clip.track, clip.alpha, clip.pitch, clip.layout, pan)
    self.volume = volume
    audioChannels = clip.audioChannels
    audioFilters = clip.audioFilters.isEmpty ? nil : clip.audioFilters.map(\.effect)
  }

  fileprivate func written(_ type: MediaType) throws(DocumentError) -> Document.Clip {
    if type == .video, trackNumber != nil {
      throw DocumentError("", "a document plays the default video track of '\(asset)', and not track \(sourceTrack)")
    }
    var clip = Document.Clip(asset, at: .seconds(target.start))
    clip.duration = .seconds(target.duration)
    if source.isEmpty { clip.freeze = .seconds(source.start) } else { clip.use = Document.TimeRange(source) }
    clip.deinterlace = deinterlace.map { $0 == .always ? .always : .never }
    clip.stabilize = stabilization.map { wanted in
      Document.Stabilize(
        smoothing: wanted.smoothing == Stabilization().smoothing ? nil : .seconds(wanted.smoothing), zoom: wanted.zoom)
    }
    clip.reverse = retiming?.isReversed == true ? true : nil
    clip.speed = retiming?.speed.map { curve in
      .points(curve.points.map { Document.SpeedPoint(at: .seconds($0.at), $0.speed) })
    }
    (clip.track, clip.alpha, clip.pitch, clip.layout) = (trackNumber, alpha, pitch, layout)
    clip.pan = try below("/pan") { () throws(DocumentError) in try writtenPan() }
    clip.audioChannels = audioChannels
    clip.volume = try below("/volume") { () throws(DocumentError) in try volume.flatMap(writtenVolume) }
    clip.audioFilters = (audioFilters ?? []).map { Document.AudioFilter($0) }
    return clip
  }

  // MARK: Pan and volume

  /// A number, or ramps on the clip's own time.
  private static func level(_ level: Document.Level, from start: MediaTime) -> RampList? {
    guard case .ramps = level else { return RampList(level) }
    return try? RampList(level)?.shifted(by: start)
  }

  /// Before its first ramp a document's pan is what that ramp starts with, so a value from the beginning on is written
  /// only if it is the whole.
  private func writtenPan() throws(DocumentError) -> Document.Level? {
    guard let pan else { return nil }
    if let constant = pan.constant, !pan.ramps.isEmpty { return .constant(constant) }
    var ramps = pan.ramps
    if ramps.count > 1, ramps[0].over == MediaTimeRange(emptyAt: RampList.earliest), ramps[0].to == ramps[1].from {
      ramps.removeFirst()
    }
    return .ramps(try onOwnTime(RampList(ramps)))
  }

  private func writtenVolume(_ volume: RampList) throws(DocumentError) -> Document.Level? {
    if volume == .one { return nil }
    if let constant = volume.constant { return .constant(constant) }
    return .ramps(try onOwnTime(volume))
  }

  private func onOwnTime(_ list: RampList) throws(DocumentError) -> [Document.Ramp] {
    do {
      return try list.shifted(by: MediaTime.zero.subtracting(target.start)).written
    } catch {
      throw DocumentError("", "\(error)")
    }
  }
}

extension MetadataTrack {
  /// Nil if a value is given at a time, or in frames.
  init?(_ track: Document.MetadataTrack) {
    let items = track.values.all { value -> TimedMetadata? in
      guard case .over(let range) = value.when else { return nil }
      return range.inSeconds.map { TimedMetadata(over: $0, value.content) }
    }
    guard track.interpolation == nil, let items else { return nil }
    self.init(id: track.id, items: items)
  }

  var written: Document.MetadataTrack {
    Document.MetadataTrack(
      id, values: items.map { Document.MetadataValue(.over(Document.TimeRange($0.over)), $0.content) })
  }
}

extension Edit.SubtitleTrack {
  /// Nil if it has no name of its own, or times in frames.
  init?(_ track: Document.SubtitleTrack) {
    let clips = track.clips.all { clip -> Clip? in
      guard let source = clip.use.converted({ $0.inSeconds }), let start = clip.at.converted({ $0.inSeconds }) else {
        return nil
      }
      return Clip(clip.asset, source: source, at: start)
    }
    guard let id = track.id, let clips else { return nil }
    self.init(
      id: id,
      label: .init(language: track.language, title: track.title, isDefault: track.default ?? false), clips: clips)
  }

  var written: Document.SubtitleTrack {
    var track = Document.SubtitleTrack(
      id: id, language: label.language, title: label.title,
      clips: clips.map {
        Document.SubtitleClip(
          $0.asset, use: $0.source.map { Document.TimeRange($0) }, at: $0.start.map { .seconds($0) })
      })
    track.default = label.isDefault ? true : nil
    return track
  }
}
