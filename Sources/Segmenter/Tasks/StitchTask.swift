package import CompositionModel

/// The output file, of pieces that are all there. Its inputs are opened in this order: the pictures' pieces by segment,
/// then the sound's piece.
package struct StitchTask: Sendable, Hashable, Codable {
  package var container: Container
  /// Nil where the output has no picture.
  package var video: StitchedVideo?
  /// Nil where the output has no sound.
  package var audio: StitchedAudio?
  package var optimizeForNetworkUse: Bool
  package var metadata: [String: String]

  package init(
    container: Container, video: StitchedVideo?, audio: StitchedAudio?, optimizeForNetworkUse: Bool,
    metadata: [String: String]
  ) {
    self.container = container
    self.video = video
    self.audio = audio
    self.optimizeForNetworkUse = optimizeForNetworkUse
    self.metadata = metadata
  }
}

package struct StitchedVideo: Sendable, Hashable, Codable {
  package var format: VideoTaskFormat
  package var encoder: VideoSettings
  /// Frames of each piece, in order.
  package var frameCounts: [Int]

  package init(format: VideoTaskFormat, encoder: VideoSettings, frameCounts: [Int]) {
    self.format = format
    self.encoder = encoder
    self.frameCounts = frameCounts
  }
}

package struct StitchedAudio: Sendable, Hashable, Codable {
  package var encoder: AudioSettings
  /// Samples of each channel that are heard.
  package var sampleCount: Int64

  package init(encoder: AudioSettings, sampleCount: Int64) {
    self.encoder = encoder
    self.sampleCount = sampleCount
  }
}
