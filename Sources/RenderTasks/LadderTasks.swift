package import CompositionModel

// The tasks of a film with several outputs. What the outputs have in common is made once: the pictures of a segment,
// and the mix. The result of each task is a `ContentPackage`.

/// How the pictures of a film are stored in one or more of its outputs.
package struct VideoRendition: Sendable, Hashable, Codable {
  /// The size of the pictures that are encoded, in pixels. The film's pictures are scaled if they have another size.
  package var size: PixelSize
  package var encoder: VideoSettings
  /// What the segment is to take of the bits of an output with an average bit rate. Nil: as many as its rate control
  /// gives it.
  package var share: BitShare?

  package init(size: PixelSize, encoder: VideoSettings, share: BitShare? = nil) {
    self.size = size
    self.encoder = encoder
    self.share = share
  }
}

/// Renders or measures a segment for several outputs. The inputs are the sources of `video`. The result of rendering
/// has a piece for each rendition, named by its number. That of measuring is a `Measurement` for each rendition, as
/// JSON.
package struct VideoLadderTask: Sendable, Hashable, Codable {
  /// The film's pictures. Its encoder is the first rendition's, and it has no share.
  package var video: VideoTask
  /// To be measured, their rate control is that of the codec's first measuring rate factor.
  package var renditions: [VideoRendition]

  package init(video: VideoTask, renditions: [VideoRendition]) {
    self.video = video
    self.renditions = renditions
  }
}

/// A mix, and how it is encoded.
package struct AudioMixdown: Sendable, Hashable, Codable {
  /// Its encoder is the first of `encoders`.
  package var audio: AudioTask
  /// The encodings that are made of the mix. All have its sample rate and its channels.
  package var encoders: [AudioSettings]

  package init(audio: AudioTask, encoders: [AudioSettings]) {
    self.audio = audio
    self.encoders = encoders
  }
}

/// Mixes the audio of several outputs. The result has a piece for each encoder of each mix, in order, named by its
/// number.
package struct AudioLadderTask: Sendable, Hashable, Codable {
  /// One for each sample rate and number of channels.
  package var mixes: [AudioMixdown]

  package init(mixes: [AudioMixdown]) {
    self.mixes = mixes
  }

  /// The digests of the files that the mixes read, each once, in order of first appearance.
  package var digests: [String] {
    var seen: Set<String> = []
    return mixes.flatMap(\.audio.sources).map(\.digest).filter { seen.insert($0).inserted }
  }

  /// The number of samples of each channel, added up over all mixes.
  package var sampleCount: Int64 { mixes.reduce(0) { $0 + $1.audio.sampleCount } }
}

/// Makes the files of several outputs. The inputs are the packages of the video tasks by segment, then that of the
/// audio task, then the file of the artwork. The result has the outputs by their files' names.
package struct StitchLadderTask: Sendable, Hashable, Codable {
  package struct Output: Sendable, Hashable, Codable {
    /// The name of the file.
    package var name: String
    /// The number of its rendition. Nil: it has no video.
    package var rendition: Int?
    /// The number of its audio's piece. Nil: it has no audio.
    package var sound: Int?
    package var stitch: StitchTask

    package init(name: String, rendition: Int?, sound: Int?, stitch: StitchTask) {
      self.name = name
      self.rendition = rendition
      self.sound = sound
      self.stitch = stitch
    }
  }

  package var outputs: [Output]
  package var segmentCount: Int
  package var hasAudio: Bool
  package var hasArtwork: Bool

  package init(outputs: [Output], segmentCount: Int, hasAudio: Bool, hasArtwork: Bool) {
    self.outputs = outputs
    self.segmentCount = segmentCount
    self.hasAudio = hasAudio
    self.hasArtwork = hasArtwork
  }
}
