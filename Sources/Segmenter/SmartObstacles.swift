import CompositionModel
import RenderTasks

/// Why the stored pictures of a clip are not those of the film, as far as that holds for the whole clip.
struct SmartObstacles {
  let sources: SourceLookup
  let size: PixelSize
  let encoder: VideoSettings

  /// Nil: there is no such reason.
  func obstacle(to layer: TimelineClip) throws(PlanError) -> String? {
    let clip = layer.clip
    if sources.nested(clip.asset) != nil { return "it is a document" }
    let (_, track, video) = try sources.video(of: clip)
    if video.isStill || clip.source.isEmpty { return "it is a still picture" }
    if clip.retiming != nil || clip.source.duration != clip.target.duration { return "its speed is changed" }
    if clip.stabilization != nil { return "it is stabilized" }
    if layer.geometry != nil { return "it is cropped, placed or transformed" }
    if layer.blendMode != nil { return "it is blended" }
    if layer.mask != nil { return "it is masked" }
    if layer.decoration != nil { return "something is drawn around it" }
    return difference(track, video) ?? streamObstacle(track, video)
  }

  /// How the stored pictures differ from those that the film stores.
  private func difference(_ track: TrackDescription, _ video: VideoFormat) -> String? {
    let codec = encoder.codec.definition
    if track.codec != codec.name { return "it is stored as \(track.codec), and the film as \(codec.name)" }
    if video.orientation != .upright { return "its pictures are turned to be upright" }
    if video.size != size {
      return "its pictures have \(video.size.width)x\(video.size.height) pixels, and those of the film "
        + "\(size.width)x\(size.height)"
    }
    let format = encoder.pixelFormat.rawValue
    if video.pixelFormat != format, video.pixelFormat != format + "le" {
      return "its pixel format is \(video.pixelFormat), and that of the film \(format)"
    }
    if video.pixelAspect != encoder.pixelAspect ?? .square {
      return
        "its pixels have the shape \(video.pixelAspect.horizontal):\(video.pixelAspect.vertical), which those of the "
        + "film do not have"
    }
    if video.cleanAperture != nil { return "a part of its pictures is shown (its clean aperture)" }
    if video.isInterlaced { return "it is interlaced, and the film is not" }
    if video.hasAlpha { return "its pictures have alpha" }
    if video.colour != encoder.colour {
      return "its colours are \(text(video.colour)), and those of the film \(text(encoder.colour))"
    }
    if video.hdr != nil || encoder.hdr != nil { return "the brightness of its high dynamic range is stated" }
    if video.hasDolbyVision == true { return "it has data of Dolby Vision" }
    if codec.smartRendering == .pictures, let tag = codec.quickTimeTag(encoder), track.formatTag != tag {
      return "its profile is '\(track.formatTag ?? "unknown")', and that of the film '\(tag)'"
    }
    if let profile = encoder.profile, codec.smartRendering == .sharedParameterSets, !track.has(profile: profile) {
      return "its profile is \(track.profile ?? "unknown"), and that of the film \(profile)"
    }
    return nil
  }

  /// What of its packets cannot be copied.
  private func streamObstacle(_ track: TrackDescription, _ video: VideoFormat) -> String? {
    if video.lacksStoredTimes == true { return "its file does not store when each picture is presented" }
    if track.discontinuities != nil { return "its timestamps are discontinuous" }
    switch encoder.codec.definition.smartRendering {
    case .pictures:
      return video.startsProvedBy == .intraOnly ? nil : "its pictures depend on others"
    case .groups, .sharedParameterSets:
      guard video.startsProvedBy == .bitstream else { return "no keyframe is proved to be one" }
      guard let copyable = video.copyable else { return "its packets are not known well enough" }
      return copyable.obstacle
    case nil: return "its codec is none that can be copied"
    }
  }

  private func text(_ colour: ColourTags) -> String {
    let names = [colour.primaries, colour.transfer, colour.matrix, colour.chromaLocation].map { $0 ?? "unset" }
    return names.joined(separator: "/") + (colour.isFullRange ? "/full" : "")
  }
}

extension TrackDescription {
  /// Whether libavcodec's name of the track's profile is that of a profile as documents name it.
  fileprivate func has(profile name: String) -> Bool {
    let own = (profile ?? "").lowercased().filter { $0.isLetter || $0.isNumber }
    return own == name || own == "constrained\(name)" || own == "\(name)predictive"
  }
}
