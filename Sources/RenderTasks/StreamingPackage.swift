package import CompositionModel

/// What names the outputs of a film that is played in segments: the playlists of HTTP Live Streaming (RFC 8216), the
/// media presentation description of MPEG-DASH (ISO/IEC 23009-1), or both. These are files of the result, after those
/// of the outputs, which are fragmented MP4 with one track each.
package struct StreamingPackage: Sendable, Hashable, Codable {
  /// Renditions that are played together, of which a player chooses one by its rate.
  package struct Variant: Sendable, Hashable, Codable {
    /// The number of the output with its pictures. Nil: it has sound alone.
    package var video: Int?
    /// The number of the output with its sound. Nil: it is silent.
    package var audio: Int?

    package init(video: Int?, audio: Int?) {
      (self.video, self.audio) = (video, audio)
    }
  }

  /// What the names of all files begin with: the multivariant playlist is `stem.m3u8`, the description `stem.mpd`.
  package var stem: String
  /// In the order of the playlist, whose first is what players begin with.
  package var variants: [Variant]
  /// Each a rendition in WebVTT.
  package var subtitles: [StitchedText]
  /// Where media segments begin after the first, in seconds, rising.
  package var segments: [MediaTime]
  /// Of the longest track, in seconds.
  package var duration: MediaTime
  /// Without repetition. Nil: the playlists of HTTP Live Streaming.
  package var manifests: [Manifest]?
  /// Of the film, by format key: `title` and `copyright`. Nil: none.
  package var metadata: [String: String]?

  package init(
    stem: String, variants: [Variant], subtitles: [StitchedText], segments: [MediaTime], duration: MediaTime
  ) {
    (self.stem, self.variants, self.subtitles) = (stem, variants, subtitles)
    (self.segments, self.duration) = (segments, duration)
  }
}

extension StreamingPackage {
  package var multivariantPlaylist: String { "\(stem).m3u8" }
  package var presentationDescription: String { "\(stem).mpd" }

  package var hasPlaylists: Bool { manifests?.contains(.m3u8) ?? true }
  package var hasPresentationDescription: Bool { manifests?.contains(.mpd) ?? false }

  /// The file of an output, or of what else a name stands for.
  package static func file(_ name: String, of stem: String) -> String { "\(stem)-\(name).mp4" }

  /// The media playlist of an output's file.
  package static func playlist(of file: String) -> String {
    (file.hasSuffix(".mp4") ? String(file.dropLast(4)) : file) + ".m3u8"
  }

  /// The playlist of the keyframes of an output's file.
  package static func keyframePlaylist(of file: String) -> String {
    (file.hasSuffix(".mp4") ? String(file.dropLast(4)) : file) + "-iframes.m3u8"
  }

  /// The file of subtitles, and their media playlist.
  package func subtitleFiles(_ number: Int) -> (file: String, playlist: String) {
    let name = "\(stem)-subtitles" + (subtitles.count > 1 ? "-\(number + 1)" : "")
    return ("\(name).vtt", "\(name).m3u8")
  }

  /// The file of subtitles as one piece, without segments.
  package func wholeSubtitleFile(_ number: Int) -> String {
    "\(stem)-subtitles" + (subtitles.count > 1 ? "-\(number + 1)" : "") + "-whole.vtt"
  }

  /// The names of all files of the package after those of the outputs, in their order.
  package func files(after outputs: [StitchTask.Output]) -> [String] {
    var names: [String] = []
    if hasPlaylists {
      for output in outputs {
        guard let file = output.name else { continue }
        names.append(Self.playlist(of: file))
        if output.file.video != nil { names.append(Self.keyframePlaylist(of: file)) }
      }
      for number in subtitles.indices {
        let files = subtitleFiles(number)
        names += [files.file, files.playlist]
      }
      names.append(multivariantPlaylist)
    }
    if hasPresentationDescription {
      names += subtitles.indices.map(wholeSubtitleFile)
      names.append(presentationDescription)
    }
    return names
  }
}
