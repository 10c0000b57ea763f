import CompositionModel

/// What is allowed in a document but is most likely not what its author wants. It changes nothing in the film.
extension Lowering {
  /// Seconds that a track may play on after the last picture, without a warning.
  private static let longestTail = MediaTime(seconds: 1)
  /// A longer duration of a frame, in seconds, is most likely an error.
  private static let longestFrame = MediaTime(seconds: 1)
  /// How many times larger than it is a picture may be shown.
  private static let greatestEnlargement = 2.0
  /// The same beside other pictures that are not enlarged so much.
  private static let greatestEnlargementOfSome = 4.0

  /// The warnings about an edit that has no problems, in the order of the document's sections.
  func warnings(_ edit: Edit) -> [Problem] {
    var warnings = document.readingWarnings
    addUnusedAssets(to: &warnings)
    addMediaWarnings(to: &warnings)
    addUnusedMetadata(to: &warnings)
    if edit.export.video != nil {
      addTails(to: &warnings)
      let cell = ChromaCell(edit.export.video?.pixelFormat ?? .yuv420p)
      addEnlargements(edit.videoComposition, cell, to: &warnings)
      addUnseen(edit.videoComposition, cell, to: &warnings)
      addLongFrames(to: &warnings)
      addOutputEnlargement(edit, to: &warnings)
      addDynamicRange(edit, to: &warnings)
      addMadeSDR(edit, to: &warnings)
      addImageLosses(edit, to: &warnings)
      addColourConversions(edit, to: &warnings)
      addUnseenOverlays(edit, to: &warnings)
    }
    addLateRamps(to: &warnings)
    addUnnamedSpeakers(to: &warnings)
    addLostSounds(to: &warnings)
    addUnheard(edit, to: &warnings)
    addLateChapter(edit, to: &warnings)
    addUnseenCaptions(edit, to: &warnings)
    addTallCaptions(edit, to: &warnings)
    addSilentSpeakers(edit, to: &warnings)
    addUnalignedKeyframes(edit, to: &warnings)
    addPlaceholders(to: &warnings)
    return warnings.problems + losses + nestedWarnings
  }

  private func addUnusedAssets(to warnings: inout ProblemList) {
    let all =
      document.assets.map { ($0.id, $0.pointer) } + document.pictures.map { ($0.id, $0.pointer) }
      + document.nested.map { ($0.id, $0.pointer) }
    for (id, pointer) in all where !document.usedAssets.contains(id) {
      warnings.add(pointer, "nothing uses '\(id.shortened)'")
    }
  }

  /// What may not be as the maker of a file meant it.
  private func addMediaWarnings(to warnings: inout ProblemList) {
    for asset in document.assets where document.usedAssets.contains(asset.id) {
      for warning in assets[asset.id]?.warnings ?? [] { warnings.add(asset.pointer, warning) }
    }
  }

  /// Tracks that make the film longer than its pictures, as music does that nobody has cut.
  private func addTails(to warnings: inout ProblemList) {
    let ends = tracks.filter { $0.entry.type == .video }.compactMap(\.clips.entries.last?.range.end)
    guard let last = ends.max() else { return }
    for track in tracks where track.entry.type == .audio {
      guard let clip = track.clips.entries.last, let tail = try? clip.range.end - last, Self.longestTail < tail
      else { continue }
      warnings.add(
        clip.element.entry.pointer,
        "'\(clip.element.clip.asset)' plays for \(seconds(tail)) after the last picture, which ends at \(last); "
          + "'\"until\": \"end\"' ends it with the pictures")
    }
  }

  /// A movie's track of chapters has no gap at its start (QuickTime File Format, "Chapter Lists").
  private func addLateChapter(_ edit: Edit, to warnings: inout ProblemList) {
    guard let first = edit.export.chapters?.first, .zero < first.range.start,
      [.mp4, .mov, .m4v, .m4a].contains(edit.export.container)
    else { return }
    warnings.add(
      document.export.chapters.isEmpty ? document.export.pointer : document.export.pointer.key("chapters"),
      "in \(edit.export.container) the first chapter is shown from the start of the film, not from \(first.range.start) s; "
        + "add one at 0")
  }

  private func addLongFrames(to warnings: inout ProblemList) {
    guard let written = document.videoComposition.frameDuration, Self.longestFrame < written else { return }
    let inverse = written.timescale == 1 ? "; for \(written.value) frames a second write \"1/\(written.value)\"" : ""
    warnings.add(
      document.videoComposition.pointer.key("frameDuration"), "each frame is shown for \(seconds(written))\(inverse)")
  }

  /// How a film of high dynamic range is stored, unless its author has asked for 10 bits.
  private func addDynamicRange(_ edit: Edit, to warnings: inout ProblemList) {
    guard let video = edit.export.video, let range = video.colour.highDynamicRange else { return }
    let pointer = JSONPointer.root.key("export").key("video")
    let format = video.pixelFormat
    if format.bitDepth == 8 {
      warnings.add(pointer, "the film is \(range), and \(format) has 8 bits, in which its gradients show steps")
    } else if document.export.video.settings?.pixelFormat == nil, document.videoComposition.color == nil {
      warnings.add(
        pointer,
        "the film is \(range), as its first clip, and is stored with 10 bits: \"pixelFormat\": \"\(format)\"; "
          + "\"color\": \"bt709\" in 'videoComposition' makes it SDR with 8 bits")
    }
  }

  /// One warning an asset. A small picture among others that are large enough, such as an SD clip in an HD film, is
  /// what its author has; a film of which every picture is enlarged has most likely a wrong size.
  private func addEnlargements(_ composition: VideoComposition, _ cell: ChromaCell, to warnings: inout ProblemList) {
    // By the place of the clip.
    var factors: [String: Double] = [:]
    for instruction in composition.instructions {
      for (layer, clip) in shown(in: instruction) {
        guard let factor = enlargement(layer, clip, in: instruction.over, composition.renderSize, cell) else {
          continue
        }
        factors[clip.entry.pointer.text] = max(factor, factors[clip.entry.pointer.text] ?? 0)
      }
    }
    let hasLargePictures = factors.values.contains { $0 <= Self.greatestEnlargement }
    func greatest(_ clip: LoweredClip) -> Double {
      hasLargePictures && clip.entry.geometry.used.isEmpty ? Self.greatestEnlargementOfSome : Self.greatestEnlargement
    }
    var reported: Set<AssetID> = []
    for track in tracks where track.entry.type == .video {
      for (_, clip) in track.clips.entries {
        guard let size = assets[clip.clip.asset]?.defaultTrack(.video)?.video?.presentationSize,
          let factor = factors[clip.entry.pointer.text], greatest(clip) < factor,
          reported.insert(clip.clip.asset).inserted
        else { continue }
        let times = plain((factor * 10).rounded() / 10)
        let goal = "to fill \(composition.renderSize.width)x\(composition.renderSize.height)"
        warnings.add(
          clip.entry.pointer,
          "'\(clip.clip.asset)' is \(size.width)x\(size.height) and is enlarged \(times) times"
            + (clip.entry.geometry.used.isEmpty ? " \(goal)" : ""))
      }
    }
  }

  /// How many times larger than it is a picture is shown at most. Nil if it is shown at its own size.
  private func enlargement(
    _ layer: TrackLayer, _ clip: LoweredClip, in range: MediaTimeRange, _ frame: PixelSize, _ cell: ChromaCell
  ) -> Double? {
    guard let video = assets[clip.clip.asset]?.defaultTrack(.video)?.video else { return nil }
    let size = video.presentationSize
    // What is drawn has no pixels to be enlarged, unless it is placed.
    if video.drawn != nil, layer.geometry == nil { return nil }
    guard let geometry = layer.geometry else { return layer.fit.enlargement(of: size, to: frame) }
    return geometry.keyTimes(in: range).compactMap { time in
      (try? geometry.placement(at: time, picture: size, fit: layer.fit, frame: frame, cell: cell))?.enlargement
    }.max()
  }

  /// The layers of an instruction with their clips.
  private func shown(in instruction: Instruction) -> [(layer: TrackLayer, clip: LoweredClip)] {
    instruction.layers.flatMap(\.tracks).flatMap { layer in
      (track(layer.track)?.clips[instruction.over] ?? []).map { (layer, $0.element) }
        .filter { $1.layer.track == layer.track }
    }
  }

  // MARK: What is not seen or heard

  /// Clips of video tracks that are nowhere seen: behind opaque ones, without opacity, or in no instruction.
  private func addUnseen(_ composition: VideoComposition, _ cell: ChromaCell, to warnings: inout ProblemList) {
    var seen: Set<String> = []
    for instruction in composition.instructions {
      for layer in instruction.layers {
        let visible = layer.tracks.filter { $0.opacity.isEverAboveZero(in: instruction.over) }
        let clips = visible.flatMap { layer in
          (track(layer.track)?.clips[instruction.over] ?? []).map { (layer, $0.element) }
            .filter { $1.layer.track == layer.track }
        }
        for (layer, clip) in clips where !isOutside(composition.renderSize, clip, layer, in: instruction.over, cell) {
          seen.insert(clip.entry.pointer.text)
        }
        guard case .track(let layer) = layer, layer.opacity == .one, layer.blendMode == nil, layer.mask == nil,
          layer.filters.keepCoverage, let (_, clip) = clips.first,
          covers(composition.renderSize, clip, layer, in: instruction.over, cell)
        else { continue }
        break
      }
    }
    let masks = maskTracks
    for track in tracks where track.entry.type == .video && !masks.contains(track.entry.id) {
      for (range, clip) in track.clips.entries where !seen.contains(clip.entry.pointer.text) {
        warnings.add(
          clip.entry.pointer,
          "the clip of '\(clip.clip.asset)' at \(range) is never visible: it is behind other pictures, transparent or outside the frame"
        )
      }
    }
  }

  private func covers(
    _ frame: PixelSize, _ clip: LoweredClip, _ layer: TrackLayer, in range: MediaTimeRange, _ cell: ChromaCell
  ) -> Bool {
    guard let video = assets[clip.clip.asset]?.defaultTrack(.video)?.video, !video.hasAlpha else { return false }
    let size = video.presentationSize
    if let geometry = layer.geometry {
      guard geometry.isConstant(from: range.start) else { return false }
      let placement = try? geometry.placement(
        at: range.start, picture: size, fit: layer.fit, frame: frame, cell: cell)
      return placement?.covers(frame) ?? false
    }
    switch layer.fit {
    case .cover, .fill, .blur: return true
    case .contain: return size.width * frame.height == size.height * frame.width
    case .none: return size.width >= frame.width && size.height >= frame.height
    }
  }

  /// Whether a picture that does not move is outside the frame.
  private func isOutside(
    _ frame: PixelSize, _ clip: LoweredClip, _ layer: TrackLayer, in range: MediaTimeRange, _ cell: ChromaCell
  ) -> Bool {
    guard let geometry = layer.geometry, geometry.isConstant(from: range.start),
      let size = assets[clip.clip.asset]?.defaultTrack(.video)?.video?.presentationSize
    else { return false }
    do throws(TimeError) {
      let placement = try geometry.placement(
        at: range.start, picture: size, fit: layer.fit, frame: frame, cell: cell)
      return !(placement?.isWithin(frame) ?? false)
    } catch {
      return false  // A time that cannot be computed exactly is reported by the planner.
    }
  }

  /// Audio tracks whose volume is 0 from beginning to end.
  private func addUnheard(_ edit: Edit, to warnings: inout ProblemList) {
    for entry in document.audioMix.tracks {
      guard let volume = edit.audioMix.volumes[entry.track], !volume.isEverAboveZero(in: film),
        edit.composition.track(entry.track)?.clips.isEmpty == false
      else { continue }
      warnings.add(
        .root.key("audioMix").key(entry.track), "the track '\(entry.track)' is silent: its volume is 0 throughout")
    }
  }
}

extension RampList {
  /// Whether the value is above 0 at any time of a range.
  func isEverAboveZero(in range: MediaTimeRange) -> Bool {
    let first = (try? value(at: range.start)) ?? 1
    return first > 0
      || ramps.contains { ramp in
        // A value that is set at a time holds from then on.
        let isInside = range.start <= ramp.over.start || range.start < ramp.over.end
        return isInside && ramp.over.start < range.end && (ramp.from > 0 || ramp.to > 0)
      }
  }
}

extension Fit {
  /// How many times larger than it is a picture is shown. Nil if it is shown at its own size.
  fileprivate func enlargement(of size: PixelSize, to frame: PixelSize) -> Double? {
    let (across, down) = (Double(frame.width) / Double(size.width), Double(frame.height) / Double(size.height))
    switch self {
    case .contain, .blur: return min(across, down)
    case .cover, .fill: return max(across, down)
    case .none: return nil
    }
  }
}
