package import CompositionModel

/// What a task has to do. It is passed to the process that runs the task as JSON with sorted keys, so that equal tasks
/// have equal bytes.
package enum TaskPayload: Sendable, Hashable, Codable {
  /// Describes a file, which is the one input. The result is an `AssetDescription` as JSON.
  case probe
  /// Finds the fonts of texts. The inputs are files of captions that are drawn, and the result is a `FontList` with the
  /// fonts' files. It is a task of the kind `probe`: it comes before planning, and any worker may run it.
  case fonts(FontTask)
  /// Makes compositors of the author's own from their parameters. There are no inputs, and the result is a
  /// `CompositorFindings` as JSON. It is a measure task of a job, which only workers that have the
  /// compositors may run, and a probe task of an inspection.
  case compositors(CompositorTask)
  /// Makes still pictures. The inputs are the files that its parts name, and the result is an `ImageList` after the
  /// pictures. It is a task of the kind `probe` too: it belongs to no plan.
  case images(ImageTask)
  /// Measures a segment of a film with an average bit rate. The inputs are the task's sources, and the result is a
  /// `Measurement` as JSON.
  case measure(MeasureTask)
  /// Renders a segment. The inputs are the task's sources, and the result is a piece.
  case video(VideoTask)
  /// Mixes the audio. The inputs are the task's sources, and the result is a piece.
  case audio(AudioTask)
  /// Copies stored packets. The inputs are the files that the clips name and that of the artwork, and the result is the
  /// film. It is the stitch task of a film with the preset `passthrough`, which has no other after its probe tasks.
  case passthrough(PassthroughTask)
  /// Makes the output file. The inputs are the pieces and the file of the artwork.
  case stitch(StitchTask)
  // What takes the place of the four tasks of rendering for a film with several outputs.
  case measureLadder(VideoLadderTask)
  case videoLadder(VideoLadderTask)
  case audioLadder(AudioLadderTask)
  case stitchLadder(StitchLadderTask)
}

/// Makes the output file from its pieces. The inputs are the video pieces by segment, then the audio piece, then the
/// file that has the artwork.
package struct StitchTask: Sendable, Hashable, Codable {
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

/// The audio of the output: what the audio piece must agree with.
package struct StitchedAudio: Sendable, Hashable, Codable {
  package var encoder: AudioSettings
  /// Samples of each channel, without those that only the encoder adds.
  package var sampleCount: Int64

  package init(encoder: AudioSettings, sampleCount: Int64) {
    self.encoder = encoder
    self.sampleCount = sampleCount
  }
}
