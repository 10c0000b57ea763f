package import CompositionModel
package import EditDocument

/// Descriptions of media without files.
package enum SyntheticAssets {
  package static func video(
    seconds: MediaTime = MediaTime(seconds: 60), size: PixelSize = PixelSize(width: 1280, height: 720),
    rate: MediaTime = MediaTime(seconds: 30), pixelFormat: String = "yuv420p", bitDepth: Int = 8,
    colour: ColourTags = ColourTags(primaries: "bt709", transfer: "bt709", matrix: "bt709"),
    orientation: Orientation = .upright, hasSound: Bool = true
  ) throws -> AssetDescription {
    let whole = try MediaTimeRange(start: .zero, duration: seconds)
    var tracks = [
      TrackDescription(
        index: 0, type: .video, codec: "h264", timebase: MediaTime(value: 1, timescale: 90000), range: whole,
        video: VideoFormat(
          size: size, pixelFormat: pixelFormat, bitDepth: bitDepth, orientation: orientation, colour: colour,
          nominalFrameRate: rate, frames: FrameTimes([0, 3000]), keyframes: []))
    ]
    if hasSound { tracks.append(soundTrack(index: 1, whole)) }
    return AssetDescription(container: "mov", duration: seconds, tracks: tracks)
  }

  package static func sound(seconds: MediaTime = MediaTime(seconds: 60)) throws -> AssetDescription {
    let whole = try MediaTimeRange(start: .zero, duration: seconds)
    return AssetDescription(container: "mov", duration: seconds, tracks: [soundTrack(index: 0, whole)])
  }

  package static func still(
    size: PixelSize = PixelSize(width: 640, height: 480), pixelFormat: String = "rgba"
  ) throws -> AssetDescription {
    var still = AssetDescription(
      container: "png_pipe", duration: .zero,
      tracks: [
        TrackDescription(
          index: 0, type: .video, codec: "png", timebase: MediaTime(value: 1, timescale: 25),
          range: try MediaTimeRange(start: .zero, duration: .zero),
          video: VideoFormat(
            size: size, pixelFormat: pixelFormat, hasAlpha: true, nominalFrameRate: .zero, frames: FrameTimes([0]),
            keyframes: [], isStill: true))
      ])
    still.byteCount = 2000
    return still
  }

  package static func captions(hasStyles: Bool) throws -> AssetDescription {
    let range = try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 9))
    var track = TrackDescription(
      index: 2, type: .subtitle, codec: hasStyles ? "ass" : "subrip",
      timebase: MediaTime(value: 1, timescale: 1000), range: range)
    track.captions = CaptionsFormat(
      header: "[Script Info]", hasStyles: hasStyles,
      events: [CaptionEvent(start: 1000, end: 2000, fields: "0,0,Default,,0,0,0,,Hi")])
    return AssetDescription(container: hasStyles ? "ass" : "srt", duration: range.end, tracks: [track])
  }

  private static func soundTrack(index: Int, _ range: MediaTimeRange) -> TrackDescription {
    TrackDescription(
      index: index, type: .audio, codec: "aac", timebase: MediaTime(value: 1, timescale: 48000), range: range,
      audio: AudioFormat(sampleRate: 48000, channels: 2, layout: "stereo"))
  }
}

/// The media of the tests' documents, by name.
package func standardAssets() throws -> [AssetID: AssetDescription] {
  [
    "v": try SyntheticAssets.video(), "w": try SyntheticAssets.video(),
    "mute": try SyntheticAssets.video(hasSound: false), "s": try SyntheticAssets.sound(),
    "logo": try SyntheticAssets.still(),
  ]
}

/// A document with the standard assets, `tracks` and `others`.
package func documentText(tracks: String, _ others: String = "", export: String = #"{"to": "out.mkv"}"#) -> String {
  let rest = others.isEmpty ? "" : ", \(others)"
  return """
    { "sheaf": 1,
      "assets": { "v": "v.mov", "w": "w.mov", "mute": "mute.mov", "s": "s.m4a", "logo": "logo.png" },
      "tracks": \(tracks)\(rest), "export": \(export) }
    """
}

/// The edit of a document's text.
package func lowered(_ text: String, assets: [AssetID: AssetDescription]? = nil, output: String? = nil) throws -> Edit {
  try TestedDocuments.keep(text)
  let document = try Document.parse(Array(text.utf8), output: output)
  let assets = try assets ?? standardAssets()
  let edit = try document.lower(assets: assets, output: output)
  try checkRewriting(of: document.written, edit, assets: assets, output: output)
  return edit
}

/// A document that is not the same once it is written and read again.
package struct RewritingError: Error, CustomStringConvertible {
  package var description: String
}

/// Throws if a document does not equal what is read of its JSON, or if that means another edit.
package func checkRewriting(
  of document: Document, _ edit: Edit, assets: [AssetID: AssetDescription], output: String?
) throws {
  let json = try document.json
  let rewritten: ExaminedDocument
  let other: Edit
  do {
    rewritten = try Document.parse(Array(json.utf8), output: output)
    other = try rewritten.lower(assets: assets, output: output)
  } catch {
    throw RewritingError(description: "the rewritten document cannot be lowered: \(error)\n\(json)")
  }
  if rewritten.written != document {
    throw RewritingError(description: "the rewritten document is another: \(json)\n\(try rewritten.written.json)")
  }
  if other != edit { throw RewritingError(description: "the rewritten document means another edit: \(json)") }
}

/// Every problem of a text and its media, as `sheaf check` reports them.
package func problems(
  _ text: String, assets: [AssetID: AssetDescription]? = nil, output: String? = nil,
  unreadable: [AssetID: String] = [:]
) throws -> [Problem] {
  try TestedDocuments.keep(text)
  do {
    _ = try Document.examine(Array(text.utf8), output: output).lower(
      assets: try assets ?? standardAssets(), output: output, unreadable: unreadable)
    return []
  } catch let error as DocumentError {
    return error.problems
  }
}

/// A time read from its description.
package func at(_ text: String) throws -> MediaTime {
  guard let time = MediaTime(text) else { throw TimeError.notNumeric }
  return time
}

package func spanning(_ start: String, _ end: String) throws -> MediaTimeRange {
  try MediaTimeRange(start: at(start), end: at(end))
}
