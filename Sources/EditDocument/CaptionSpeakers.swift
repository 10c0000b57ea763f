import CompositionModel

extension DocumentReader {
  /// Reads `speakers` of captions.
  mutating func speakers(_ value: JSONValue) -> [String: CaptionSpeaker] {
    let written = members(value, "speakers by name, such as {\"Fred\": {\"color\": \"#ffd040\"}}")
    guard written.count <= SpeakerKeys.greatestCount else {
      problems.addShape(
        value.pointer, "\(written.count) speakers; captions have at most \(SpeakerKeys.greatestCount) of them")
      return [:]
    }
    var speakers: [String: CaptionSpeaker] = [:]
    var names: Set<String> = []
    for (name, value) in written {
      guard !name.isEmpty, !name.utf8.contains(0) else {
        problems.addShape(value.pointer, "the name of a speaker must not be empty or contain a null character")
        continue
      }
      // Which names captions take for one, a schema does not know.
      let known = CaptionVoices.name(name)
      guard !known.isEmpty, names.insert(known).inserted else {
        problems.add(
          value.pointer,
          known.isEmpty
            ? "the name of a speaker has only spaces, braces and backslashes, which captions leave out"
            : "the speaker '\(known.shortened)' is there before, with other spaces, braces or backslashes, which captions "
              + "do not tell apart: leave one out")
        continue
      }
      guard let fields = fields(value, SpeakerKeys.table) else { continue }
      var speaker = CaptionSpeaker()
      read(fields, SpeakerKeys.properties, into: &speaker)
      speakers[name] = speaker
    }
    return speakers
  }
}

extension JSONValue {
  static func speakers(_ speakers: [String: CaptionSpeaker]) -> JSONValue {
    .object(speakers.sorted { $0.key < $1.key }.map { ($0.key, $0.value.json) })
  }
}

extension Lowering {
  /// Reports colours of speakers in a track.
  mutating func checkColors(_ entry: CaptionsEntry) {
    for (name, speaker) in entry.written.speakers.sorted(by: { $0.key < $1.key }) where speaker.color != nil {
      problems.add(
        entry.pointer.key(CaptionKeys.speakers.name).key(name).key(SpeakerKeys.color.name),
        "'\(SpeakerKeys.color.name)' is for captions that are drawn; a player decides how a track looks")
    }
  }
}
