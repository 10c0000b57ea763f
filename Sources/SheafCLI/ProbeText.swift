import CompositionModel

/// A file's description in words.
enum ProbeText {
  static func lines(_ file: String, _ description: AssetDescription) -> [String] {
    var lines = ["\(file): \(description.container), \(seconds(description.duration))"]
    for track in description.tracks {
      var parts = [track.codec + (track.profile.map { " (\($0))" } ?? "")]
      if let video = track.video {
        let seen = video.presentationSize
        parts.append(
          "\(video.size.width)x\(video.size.height)"
            + (seen == video.size ? "" : ", seen as \(seen.width)x\(seen.height)"))
        parts.append(video.pixelFormat)
        if !video.isStill {
          parts.append("\(video.nominalFrameRate) frames/s")
          let starts = video.keyframes.count
          parts.append(
            "\(video.frames.count) frames, \(starts == 0 ? "read from its head" : "\(starts) places to start")")
        }
        if video.orientation != .upright { parts.append("turned \(video.orientation.clockwise)°") }
        if video.isInterlaced { parts.append("interlaced") }
      }
      if let audio = track.audio { parts.append("\(audio.sampleRate) Hz, \(audio.layout)") }
      if let language = track.language { parts.append(language) }
      if track.video?.isStill != true { parts.append("\(track.range)") }
      lines.append("  \(track.index) \(track.type.rawValue): " + parts.joined(separator: ", "))
    }
    for (key, value) in description.metadata.sorted(by: { $0.key < $1.key }) { lines.append("  \(key): \(value)") }
    return lines
  }

  private static func seconds(_ time: MediaTime) -> String { time == .zero ? "a still" : "\(time) s" }
}
