/// Documents of sound alone, as linear PCM of 24 bits: that of another document, or of a media file.
extension Document {
  /// The document of the sound of another, or of one of its audio tracks as it is in the mix: the other tracks are
  /// silent, and the film has no target of loudness, so that the track is not lowered under another either.
  /// - Parameters:
  ///   - track: An audio track's name, such as `music` or `A.sound`. Nil: the whole mix.
  ///   - output: The path of the new document's output.
  /// - Throws: The problem of a text that is no document, or of a track that there is not.
  public static func ofSound(_ bytes: [UInt8], track: TrackID?, output: String) throws(DocumentError) -> [UInt8] {
    let document = try examine(bytes, output: output)
    guard let root = try? JSONReader.read(bytes).value, case .object(let members) = root.content else {
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

  /// The document of the sound of a media file, at its own rate and channels if an output can have them.
  /// - Parameters:
  ///   - track: The number of the audio track among the file's, from 0. Nil: the one that clips use.
  /// - Throws: The problem of a file without this audio track.
  public static func ofSound(
    path: String, _ description: AssetDescription, track: Int?
  ) throws(DocumentError) -> [UInt8] {
    let tracks = description.tracks.filter { $0.type == .audio }
    let chosen = track.map { tracks.indices.contains($0) ? tracks[$0] : nil } ?? description.defaultTrack(.audio)
    guard let audio = chosen?.audio else {
      let message =
        tracks.isEmpty
        ? "\(path) has no sound" : "\(path) has no audio track \(track ?? 0); its tracks are 0 to \(tracks.count - 1)"
      throw DocumentError(problems: [Problem(pointer: "", message: message)])
    }
    let codec = AudioCodec.pcm.definition
    let sampleRate = codec.sampleRates.contains(audio.sampleRate) ? audio.sampleRate : 48000
    let channels = codec.channelCounts.contains(audio.channels) ? audio.channels : nil
    let clip = [(key: "asset", text: "\"file\"")] + (track.map { [(key: "track", text: "\($0)")] } ?? [])
    let tracksText = "[{\"type\":\"audio\",\"clips\":[\(object(clip))]}]"
    return [UInt8](
      object([
        ("sheaf", "1"), ("assets", object([("file", JSONValue.quoted(path))])), ("tracks", tracksText),
        ("export", export(sampleRate: sampleRate, channels: channels)),
      ]).utf8)
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
