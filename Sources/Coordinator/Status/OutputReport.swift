import CompositionModel
import ContentStorage
import Digest
import FarmAPI
import FoundationEssentials
import RenderTasks
import SystemSupport

extension OutputReport {
  /// The files of several outputs, with their playlists. Nil: there is one output, without a name.
  static func list(of task: StitchTask) -> [OutputReport]? {
    guard let names = task.fileNames else { return nil }
    let outputs = task.outputs.compactMap(OutputReport.init)
    return outputs + names.dropFirst(outputs.count).map { OutputReport(file: $0) }
  }

  /// Nil: it is the only output of its document, and has no name.
  init?(_ output: StitchTask.Output) {
    guard let name = output.name else { return nil }
    self.init(file: name)
    container = (output.file.segments == nil ? output.file.container : .mp4).rawValue
    video = output.file.video.map { video in
      var quality: Double?
      if video.encoder.targetQuality == nil, case .quality(let number) = video.encoder.rateControl { quality = number }
      return Video(
        codec: video.encoder.codec.rawValue, width: video.format.size.width, height: video.format.size.height,
        bitRate: video.encoder.averageBitRate, quality: quality)
    }
    audio = output.file.audio.map { audio in
      Audio(
        codec: audio.encoder.codec.rawValue, sampleRate: audio.encoder.sampleRate, channels: audio.encoder.channels,
        bitRate: audio.encoder.bitRate)
    }
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
