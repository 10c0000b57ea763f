package import CompositionModel

/// Makes a film of stored packets: no picture and no sample is decoded. The inputs are the files that the clips and the
/// artwork name, and the result is the film.
package struct PassthroughTask: Sendable, Hashable, Codable {
  package struct Clip: Sendable, Hashable, Codable {
    /// The SHA-256 of the file, in lower-case hexadecimal.
    package var digest: String
    /// The stream's index in the file.
    package var track: Int
    /// libavcodec's name of the codec.
    package var codec: String
    /// Seconds a tick of the stored timestamps, which all clips of a track have in common.
    package var timebase: MediaTime
    package var discontinuities: [Discontinuity]?
    /// Where reading begins. Nil: at the head of the file.
    package var from: Keyframe?
    /// The stored timestamp of the picture that is shown at `start` and begins before it: it is presented from `start`
    /// on. Nil: a picture begins there.
    package var held: Int64?
    /// The stored timestamps that are presented: from `start` to before `end`.
    package var start: Int64
    package var end: Int64
    /// The place of `start` on the film's timeline, in ticks.
    package var target: Int64

    package init(
      digest: String, track: Int, codec: String, timebase: MediaTime, discontinuities: [Discontinuity]?,
      from: Keyframe?, start: Int64, end: Int64, target: Int64
    ) {
      self.digest = digest
      self.track = track
      self.codec = codec
      self.timebase = timebase
      self.discontinuities = discontinuities
      self.from = from
      self.start = start
      self.end = end
      self.target = target
    }
  }

  package struct Track: Sendable, Hashable, Codable {
    package var type: MediaType
    /// They follow one another without a gap.
    package var clips: [Clip]
    /// Seconds that are presented, from zero.
    package var duration: MediaTime
    /// Its language and title take the place of those of the first clip's track. Nil: those stay.
    package var label: TrackLabel?
    /// Degrees clockwise, 0, 90, 180 or 270, by which players turn the pictures, whatever the first clip's track
    /// states. Nil: as it states.
    package var rotation: Int?
    /// Whether it is carried beside the tracks that the document names. Nil: it is one of these.
    package var isCarried: Bool?
    /// The timecode of the first picture, such as `01:00:00:00`. Nil: none is stated.
    package var timecode: String?
    /// The part of the pictures that is meant to be seen. Nil: all, or the container does not state it.
    package var cleanAperture: PixelRect?

    package init(type: MediaType, clips: [Clip], duration: MediaTime, label: TrackLabel? = nil, rotation: Int? = nil) {
      self.rotation = rotation
      self.label = label
      self.type = type
      self.clips = clips
      self.duration = duration
    }
  }

  /// A file in a media file, such as a font.
  package struct Attachment: Sendable, Hashable, Codable {
    /// The SHA-256 of the media file, in lower-case hexadecimal.
    package var digest: String
    /// The stream's index in it.
    package var track: Int

    package init(digest: String, track: Int) {
      (self.digest, self.track) = (digest, track)
    }
  }

  package var container: Container
  /// The pictures first, then the sound, then captions.
  package var tracks: [Track]
  /// Whether the index is at the start of the file.
  package var optimizeForNetworkUse: Bool
  package var metadata: [String: String]
  /// Nil: none.
  package var artwork: PlannedArtwork?
  /// On the film's timeline. Nil: there are none.
  package var chapters: [Chapter]?
  /// After the tracks. Nil: none.
  package var texts: [StitchedText]?
  /// The damaged frames that the film shows, as far as the descriptions of its media have them. Nil: none.
  package var damage: ShownDamage?
  /// Files that are in the media, and become files in the film. Nil: none.
  package var attachments: [Attachment]?
  /// How many pictures are presented. Nil: none.
  package var pictureCount: Int?

  package init(
    container: Container, tracks: [Track], optimizeForNetworkUse: Bool, metadata: [String: String]
  ) {
    (self.container, self.tracks) = (container, tracks)
    (self.optimizeForNetworkUse, self.metadata) = (optimizeForNetworkUse, metadata)
  }

  /// The digests of the files that the task reads, each once, in order of first appearance.
  package var digests: [String] {
    var seen: Set<String> = []
    return
      (tracks.flatMap(\.clips).map(\.digest) + (attachments ?? []).map(\.digest) + [artwork?.digest].compactMap(\.self))
      .filter { seen.insert($0).inserted }
  }
}
