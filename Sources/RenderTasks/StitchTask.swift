package import CompositionModel

/// Makes the files of a film's outputs. The inputs are the packages of the video tasks by segment, then those of the
/// audio tasks, then the file of the artwork.
package struct StitchTask: Sendable, Hashable, Codable {
  package struct Output: Sendable, Hashable, Codable {
    /// The name of the file in the result, which is a package of the outputs' files. Nil: the file is the result, and
    /// there is no other output.
    package var name: String?
    /// The number of its rendition. Nil: it has no video.
    package var rendition: Int?
    /// The number of its audio's piece in a package. Nil: it has no audio.
    package var sound: Int?
    /// Which of the audio's packages have its pieces, one after the other. Nil: the first alone.
    package var soundPackages: Range<Int>?
    package var file: StitchedFile

    package init(
      name: String?, rendition: Int?, sound: Int?, soundPackages: Range<Int>? = nil, file: StitchedFile
    ) {
      self.soundPackages = soundPackages
      self.name = name
      self.rendition = rendition
      self.sound = sound
      self.file = file
    }
  }

  /// At least one.
  package var outputs: [Output]
  package var segmentCount: Int
  package var hasAudio: Bool
  /// The number of the audio's packages. Nil: one, if there is audio.
  package var audioPackages: Int?
  /// What names the files of a film that is played in segments. Nil: there is no such thing.
  package var playlists: StreamingPackage?

  package init(outputs: [Output], segmentCount: Int, hasAudio: Bool, audioPackages: Int? = nil) {
    self.audioPackages = audioPackages
    self.outputs = outputs
    self.segmentCount = segmentCount
    self.hasAudio = hasAudio
  }

  /// The output that stands for all where one is shown: the first that has video, or else the first.
  package var main: Output { outputs.first { $0.file.video != nil } ?? outputs[0] }

  /// The number of the audio's packages.
  package var audioPackageCount: Int { hasAudio ? audioPackages ?? 1 : 0 }

  /// The names of the files in the result, in their order. Nil: the result is one file.
  package var fileNames: [String]? {
    if let output = outputs.first, output.name == nil { return nil }
    return outputs.compactMap(\.name) + (playlists?.files(after: outputs) ?? [])
  }

  /// The artwork of the outputs whose containers can have it. All have the same. Nil: there is none.
  package var artwork: PlannedArtwork? { outputs.lazy.compactMap(\.file.artwork).first }
}

/// How the file of an output is made of its pieces: those of its video by segment, then those of its audio by part.
package struct StitchedFile: Sendable, Hashable, Codable {
  package var container: Container
  /// Nil if the output has no video.
  package var video: StitchedVideo?
  /// Nil if the output has no audio.
  package var audio: StitchedAudio?
  /// Whether the index is at the start of the file.
  package var optimizeForNetworkUse: Bool
  package var metadata: [String: String]
  /// The language and the title of the video track. Nil: none.
  package var videoLabel: TrackLabel?
  /// Those of the audio track. Nil: none.
  package var audioLabel: TrackLabel?
  /// Nil: there are none.
  package var chapters: [Chapter]?
  /// Degrees clockwise, 90, 180 or 270, by which players turn the pictures. Nil: they do not.
  package var rotation: Int?
  /// The part of the stored pictures that is meant to be seen, in a container of the mov family. Nil: all of them.
  package var cleanAperture: PixelRect?
  /// After video and audio. Nil: none.
  package var texts: [StitchedText]?
  /// Nil: none.
  package var artwork: PlannedArtwork?
  /// How often an animated picture is played. Nil: for ever, or the container states nothing.
  package var plays: Int?
  /// Of a fragmented file: where media segments begin after the first, in seconds, rising. Nil: it is not fragmented.
  package var segments: [MediaTime]?

  package init(
    container: Container, video: StitchedVideo?, audio: StitchedAudio?, optimizeForNetworkUse: Bool,
    metadata: [String: String], chapters: [Chapter]? = nil, rotation: Int? = nil
  ) {
    self.chapters = chapters
    self.rotation = rotation
    self.container = container
    self.video = video
    self.audio = audio
    self.optimizeForNetworkUse = optimizeForNetworkUse
    self.metadata = metadata
  }
}

/// The picture that players show for the output: a file, or a picture in one.
package struct PlannedArtwork: Sendable, Hashable, Codable {
  /// The SHA-256 of the file, in lower-case hexadecimal.
  package var digest: String
  /// The stream's index of the picture in a media file. Nil: the file is the picture.
  package var track: Int?
  package var format: Artwork.Format
  /// As `Artwork` has it.
  package var isForSharing: Bool?

  package init(digest: String, track: Int?, format: Artwork.Format, isForSharing: Bool? = nil) {
    self.digest = digest
    self.track = track
    self.format = format
    self.isForSharing = isForSharing
  }
}

/// A text track of the output with its captions.
package struct StitchedText: Sendable, Hashable, Codable {
  package var codec: CaptionCodec
  /// The head of the captions' script.
  package var header: String
  package var description: CaptionTrack
  /// In order of their start, in milliseconds of the film, within it. Of a codec that shows one at a time they follow
  /// one another from the film's start to its end; where nothing is shown, `fields` is empty.
  package var events: [CaptionEvent]

  package init(codec: CaptionCodec, header: String, description: CaptionTrack, events: [CaptionEvent]) {
    self.codec = codec
    self.header = header
    self.description = description
    self.events = events
  }
}

/// The video of the output: what every video piece must agree with.
package struct StitchedVideo: Sendable, Hashable, Codable {
  package var format: VideoTaskFormat
  package var encoder: VideoSettings
  /// The number of frames of each piece, in order.
  package var frameCounts: [Int]

  package init(format: VideoTaskFormat, encoder: VideoSettings, frameCounts: [Int]) {
    self.format = format
    self.encoder = encoder
    self.frameCounts = frameCounts
  }
}

/// The audio of the output: what its pieces must agree with.
package struct StitchedAudio: Sendable, Hashable, Codable {
  package var encoder: AudioSettings
  /// Samples of each channel, without those that only the encoder adds.
  package var sampleCount: Int64
  /// The number of its pieces, each with the packets after those of the one before. Nil: one.
  package var parts: Int?

  package init(encoder: AudioSettings, sampleCount: Int64, parts: Int? = nil) {
    self.parts = parts
    self.encoder = encoder
    self.sampleCount = sampleCount
  }
}
