import CompositionModel

extension Document.AudioFilter {
  /// The most filters of one clip or of one track.
  static let greatestCount = 16

  static let instead = [
    "type": "did you mean 'kind'?", "name": "did you mean 'kind'?", "freq": "did you mean 'frequency'?",
    "f": "did you mean 'frequency'?", "width": "did you mean 'q'?", "level": "did you mean 'threshold' or 'limit'?",
    "delay": "did you mean 'time'?", "seconds": "did you mean 'time'?", "ceiling": "did you mean 'limit'?",
  ]
}

extension DocumentReader {
  /// Reads filters of sound.
  mutating func audioFilters(_ value: JSONValue?) -> [Document.AudioFilter] {
    let items = items(value, "filters of sound, such as {\"kind\": \"highPass\", \"frequency\": 80}")
    if let value, items.count > Document.AudioFilter.greatestCount {
      problems.addShape(
        value.pointer, "\(items.count) filters; at most \(Document.AudioFilter.greatestCount) are allowed")
      return []
    }
    let filters = items.flatMap { audioFilters(of: $0) }
    if let value, filters.count > Document.AudioFilter.greatestCount {
      // How many a preset stands for, a schema does not know.
      problems.add(
        value.pointer,
        "\(filters.count) filters, with those of presets; at most \(Document.AudioFilter.greatestCount) are allowed")
      return []
    }
    return filters
  }

  /// One filter, or those of a preset. None and a problem if it cannot be used.
  private mutating func audioFilters(of value: JSONValue) -> [Document.AudioFilter] {
    guard case .object(let members) = value.content,
      case .string(AudioFilterTables.presetKind) = members.first(where: { $0.key == "kind" })?.value.content
    else { return audioFilter(value).map { [$0] } ?? [] }
    guard let fields = fields(value, AudioFilterTables.presetTable), let preset = read(fields, AudioFilterTables.preset)
    else { return [] }
    return preset.filters.map { effect in
      var filter = Document.AudioFilter(effect)
      (filter.pointer, filter.isOfPreset) = (fields.pointer, true)
      return filter
    }
  }

  /// Nil and a problem if the filter cannot be used.
  private mutating func audioFilter(_ value: JSONValue) -> Document.AudioFilter? {
    guard case .object(let members) = value.content, let written = members.first(where: { $0.key == "kind" }) else {
      let keys = Set(AudioFilterKind.allCases.flatMap { $0.parameters.map(\.key) }).sorted()
      if let fields = fields(value, "a filter of sound", keys: ["kind"] + keys, instead: Document.AudioFilter.instead) {
        _ = required(fields, "kind", "a filter of sound")
      }
      return nil
    }
    guard let kind = AudioFilterTables.kind.form.read(&self, written.value).flatMap({ AudioFilterKind(rawValue: $0) }),
      let table = AudioFilterTables.tables[kind],
      let keys = AudioFilterTables.parameters[kind]
    else { return nil }
    let found = problems.count
    guard let fields = fields(value, table) else { return nil }
    let values = zip(keys, kind.parameters).map { key, parameter in read(fields, key) ?? parameter.standard ?? 0 }
    guard problems.count == found else { return nil }
    var filter = Document.AudioFilter(AudioFilter(kind, values))
    filter.pointer = fields.pointer
    return filter
  }
}

extension Lowering {
  /// Reports filters whose frequency the output's sound cannot have.
  mutating func checkAudioFilters(sampleRate: Int) {
    let ofClips = document.tracks.flatMap(\.clips).flatMap(\.sound.filters)
    for entry in ofClips + document.audioMix.tracks.flatMap(\.filters) {
      guard let frequency = entry.effect.frequency, frequency * 2 >= Double(sampleRate) else { continue }
      problems.add(
        entry.pointer.key(entry.isOfPreset ? "preset" : "frequency"),
        "\(plain(frequency)) Hz is not below \(plain(Double(sampleRate) / 2)) Hz, half the sample rate of the output")
    }
  }
}
