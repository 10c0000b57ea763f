/// One of several outputs of a document, as `plan` and `status` show it. Its JSON is stable: keys may be added, but are
/// never changed.
package struct OutputReport: Sendable, Hashable, Codable {
  package struct Video: Sendable, Hashable, Codable {
    package var codec: String
    package var width: Int
    package var height: Int
    /// Bits a second on average. Nil: there is no average.
    package var bitRate: Int?
    /// The encoder's constant quality. Nil: the rate control is another, or each segment has its own.
    package var quality: Double?

    package init(codec: String, width: Int, height: Int, bitRate: Int?, quality: Double?) {
      self.codec = codec
      self.width = width
      self.height = height
      self.bitRate = bitRate
      self.quality = quality
    }
  }

  package struct Audio: Sendable, Hashable, Codable {
    package var codec: String
    package var sampleRate: Int
    package var channels: Int
    /// Bits a second. Nil: the codec has none.
    package var bitRate: Int?

    package init(codec: String, sampleRate: Int, channels: Int, bitRate: Int?) {
      self.codec = codec
      self.sampleRate = sampleRate
      self.channels = channels
      self.bitRate = bitRate
    }
  }

  /// The name of its file in the folder of the outputs.
  package var file: String
  /// Nil: the job is not planned yet; the same holds for what follows if there is no container.
  package var container: String?
  /// Nil: the output has no video.
  package var video: Video?
  /// Nil: the output has no audio.
  package var audio: Audio?

  package init(file: String) {
    self.file = file
  }

  /// Such as `high.mp4: h264 1280x720, quality 20, aac 48000 Hz`.
  package var text: String {
    var parts: [String] = []
    if let video {
      parts.append("\(video.codec) \(video.width)x\(video.height)")
      if let rate = video.bitRate { parts.append("\(rate) bit/s") }
      if let quality = video.quality { parts.append("quality \(quality)") }
    }
    if let audio {
      parts.append("\(audio.codec) \(audio.sampleRate) Hz, channels: \(audio.channels)")
      if let rate = audio.bitRate { parts.append("\(rate) bit/s") }
    }
    return parts.isEmpty ? file : "\(file): \(parts.joined(separator: ", "))"
  }
}
