import CompositionModel
import ContentStorage
import Digest
package import FoundationEssentials
import RenderTasks
import SystemSupport

/// One of several outputs of a document, as `plan` and `status` show it. Its JSON is stable: keys may be added, but are
/// never changed.
package struct OutputReport: Sendable, Hashable, Codable {
  package struct Video: Sendable, Hashable, Codable {
    package var codec: String
    package var width: Int
    package var height: Int
    /// Bits a second on average. Nil: there is no average.
    package var bitRate: Int?
    /// The encoder's constant quality. Nil: the rate control is another.
    package var quality: Double?
  }

  package struct Audio: Sendable, Hashable, Codable {
    package var codec: String
    package var sampleRate: Int
    package var channels: Int
    /// Bits a second. Nil: the codec has none.
    package var bitRate: Int?
  }

  /// The name of its file in the folder of the outputs.
  package var file: String
  /// Nil: the job is not planned yet; the same holds for what follows if there is no container.
  package var container: String?
  /// Nil: the output has no video.
  package var video: Video?
  /// Nil: the output has no audio.
  package var audio: Audio?

  init(file: String) {
    self.file = file
  }

  init(_ output: StitchLadderTask.Output) {
    file = output.name
    container = output.stitch.container.rawValue
    video = output.stitch.video.map { video in
      var quality: Double?
      if case .quality(let number) = video.encoder.rateControl { quality = number }
      return Video(
        codec: video.encoder.codec.rawValue, width: video.format.size.width, height: video.format.size.height,
        bitRate: video.encoder.averageBitRate, quality: quality)
    }
    audio = output.stitch.audio.map { audio in
      Audio(
        codec: audio.encoder.codec.rawValue, sampleRate: audio.encoder.sampleRate, channels: audio.encoder.channels,
        bitRate: audio.encoder.bitRate)
    }
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

  /// Reads what `JobStatus.outputs` has. Empty: the document has one output.
  package static func list(_ json: Data) throws -> [OutputReport] {
    json.isEmpty ? [] : try JSONDecoder().decode([OutputReport].self, from: json)
  }
}

// What the outputs are is known when the job is planned, and is kept as its warnings are.
extension ResultNotes {
  func record(_ outputs: [OutputReport], of request: [UInt8]) throws {
    let text = try JSONCoding.encoder.encode(outputs)
    try record(String(decoding: text, as: UTF8.self), of: Self.outputsKey(request))
  }

  /// Nil if there is no such note, or a crash has damaged it.
  func outputs(of request: [UInt8]) -> [OutputReport]? {
    guard let note = note(of: Self.outputsKey(request)) else { return nil }
    return try? JSONDecoder().decode([OutputReport].self, from: Data(note.utf8))
  }

  private static func outputsKey(_ request: [UInt8]) -> SHA256Digest {
    SHA256Digest.of(Array("outputs".utf8) + request)
  }
}
