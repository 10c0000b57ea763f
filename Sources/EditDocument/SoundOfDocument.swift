public import CompositionModel

/// Documents of sound alone, as linear PCM of 24 bits: that of another document, or of a media file.
extension Document {
  /// The document of the sound of another, or of one of its audio tracks as it is in the mix: the other tracks are
  /// silent, and the film has no target of loudness, so that the track is not lowered under another either.
  /// - Parameters:
  ///   - bytes: The text of the other document, in UTF-8.
  ///   - track: An audio track's name, such as `music` or `A.sound`. Nil: the whole mix.
  ///   - output: The path of the new document's output.
  /// - Throws: The problem of a text that is no document, or of a track that there is not.
  public static func ofSound(_ bytes: [UInt8], track: TrackID?, output: String) throws(DocumentError) -> [UInt8] {
    let document = try examine(bytes, output: output)
    var reader = DocumentReader(output: output, preset: nil)
    guard let root = try? JSONReader.read(bytes).value, case .object(let members) = reader.expanded(root).content else {
      throw DocumentError(problems: document.problems)
    }
    var texts: [(key: String, text: String)] = []
    for (key, value) in members
    where key != "export" && key != "captions" && (key != "audioMix" || track == nil) {
      if key == "tracks", case .array(let tracks) = value.content {
        let heard = tracks.filter { !SubtitleTrackEntry.isOne($0) }.map(\.canonicalText)
        texts.append((key, "[\(heard.joined(separator: ","))]"))
      } else {
        texts.append((key, value.canonicalText))
      }
    }
    if let track {
      let tracks = document.tracks.compactMap { entry in
        entry.type == .audio ? entry.id : entry.hasSound ? TrackEntry.audioTrack(of: entry.id) : nil
      }
      guard tracks.contains(track) else {
        let hint = suggestion(for: track, amongDeclared: tracks)
        throw DocumentError(problems: [
          Problem(pointer: "", message: "there is no audio track '\(track.shortened)'\(hint)")
        ])
      }
      var mix = tracks.filter { $0 != track }.map { (key: $0, text: "0") }
      if case .object(let entries)? = members.first(where: { $0.key == "audioMix" })?.value.content,
        let own = entries.first(where: { $0.key == track })?.value
      {
        mix.append((track, own.canonicalText))
      }
      texts.append(("audioMix", object(mix)))
    }
    let settings = document.export.audio.settings
    texts.append(("export", export(sampleRate: settings?.sampleRate, channels: settings?.channels)))
    return [UInt8](object(texts).utf8)
  }

  /// The document of the sound of a media file, at its own rate if an output can have it, and else 48000 Hz. It has
  /// the file's channels as they are, for whatever speakers, or is stereo if they are more than an output can have.
  /// - Parameters:
  ///   - path: That of the file.
  ///   - description: What the file contains.
  ///   - track: The number of the audio track among the file's, from 0. Nil: the one that clips use.
  /// - Returns: The document, and which channels of its output are the file's, in the file's order. Any others are
  ///   silent.
  /// - Throws: The problem of a file without this audio track.
  public static func ofSound(
    path: String, _ description: AssetDescription, track: Int?
  ) throws(DocumentError) -> (document: [UInt8], channels: [Int]) {
    let tracks = description.tracks.filter { $0.type == .audio }
    let chosen = track.map { tracks.indices.contains($0) ? tracks[$0] : nil } ?? description.defaultTrack(.audio)
    guard let audio = chosen?.audio else {
      let message =
        tracks.isEmpty
        ? "there is no sound in it" : "there is no audio track \(track ?? 0); its tracks are 0 to \(tracks.count - 1)"
      throw DocumentError(problems: [Problem(pointer: "", message: message)])
    }
    let codec = AudioCodec.pcm.definition
    let sampleRate = codec.sampleRates.contains(audio.sampleRate) ? audio.sampleRate : 48000
    let kept = KeptChannels(audio.channels)
    var clip = [(key: "asset", text: "\"file\"")]
    if let track { clip.append(("track", "\(track)")) }
    if let kept { clip.append(("layout", JSONValue.quoted(kept.layout.rawValue))) }
    let tracksText = "[{\"type\":\"audio\",\"clips\":[\(object(clip))]}]"
    let document = object([
      ("sheaf", "1"), ("assets", object([("file", JSONValue.quoted(path))])), ("tracks", tracksText),
      ("export", export(sampleRate: sampleRate, channels: kept?.outputChannels)),
    ])
    return ([UInt8](document.utf8), kept?.places ?? [0, 1])
  }

  private static func export(sampleRate: Int?, channels: Int?) -> String {
    var settings = [(key: "codec", text: "\"pcm\""), (key: "bitDepth", text: "24")]
    if let sampleRate { settings.append(("sampleRate", "\(sampleRate)")) }
    if let channels { settings.append(("channels", "\(channels)")) }
    return object([("video", "false"), ("audio", object(settings))])
  }

  private static func object(_ members: [(key: String, text: String)]) -> String {
    "{" + members.map { JSONValue.quoted($0.key) + ":" + $0.text }.joined(separator: ",") + "}"
  }
}

/// How an output keeps the channels of a file: a clip's layout whose speakers are among the output's, so that each
/// channel is copied and none is mixed.
private struct KeptChannels {
  var layout: SpeakerLayout
  var outputChannels: Int
  /// The place of each of the file's channels among the output's. The first is 0.
  var places: [Int]

  /// Nil if no output has so many channels.
  init?(_ channels: Int) {
    switch channels {
    case 1: (layout, outputChannels, places) = (.mono, 1, [0])
    case 2: (layout, outputChannels, places) = (.stereo, 2, [0, 1])
    // 5.1 is left, right, centre, low frequencies and the two behind.
    case 3: (layout, outputChannels, places) = (.surround30, 6, [0, 1, 2])
    case 4: (layout, outputChannels, places) = (.quad, 6, [0, 1, 4, 5])
    case 5: (layout, outputChannels, places) = (.surround50, 6, [0, 1, 2, 4, 5])
    case 6: (layout, outputChannels, places) = (.surround51, 6, Array(0..<6))
    case 7: (layout, outputChannels, places) = (.surround70, 8, [0, 1, 2, 4, 5, 6, 7])
    case 8: (layout, outputChannels, places) = (.surround71, 8, Array(0..<8))
    default: return nil
    }
  }
}
