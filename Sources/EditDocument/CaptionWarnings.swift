import CompositionModel

/// What is allowed in captions but is most likely not what their author wants.
extension Lowering {
  /// Captions that still have many lines when they are broken.
  func addTallCaptions(_ edit: Edit, to warnings: inout ProblemList) {
    guard filmIsKnown, !film.isEmpty else { return }
    for entry in document.captions {
      guard let wording = entry.wording, let length = wording.lineLength, let shown = shown(entry, of: edit) else {
        continue
      }
      let tall = shown.filter { wording.written($0).lineCount > CaptionsEntry.readableLines }
      guard let first = tall.first else { continue }
      let others = tall.count == 1 ? "" : ", the first of \(tall.count) such captions,"
      warnings.add(
        entry.pointer.key(CaptionKeys.lineLength.name),
        "the caption at \(MediaTime(value: first.start, timescale: 1000)) s\(others) has "
          + "\(wording.written(first).lineCount) lines of at most \(length) characters; more than "
          + "\(CaptionsEntry.readableLines) are hard to read")
    }
  }

  /// Speakers who say nothing, and names of speakers where nobody is named.
  func addSilentSpeakers(_ edit: Edit, to warnings: inout ProblemList) {
    for entry in document.captions {
      guard let wording = entry.wording, wording.ofFonts != nil, let id = entry.asset,
        let format = assets[id]?.defaultTrack(.subtitle)?.captions
      else { continue }
      let voices = Set(format.events.flatMap { CaptionVoices.names(in: $0.text ?? "") })
      let place = entry.isList ? "the list" : "'\(id.shortened)'"
      if voices.isEmpty {
        let key = entry.written.speakers.isEmpty ? CaptionKeys.speakerNames.name : CaptionKeys.speakers.name
        warnings.add(entry.pointer.key(key), "the captions of \(place) do not say who speaks")
        continue
      }
      for name in entry.written.speakers.keys.sorted() where !voices.contains(CaptionVoices.name(name)) {
        let meant = nearest(to: name, among: voices.sorted()).map { " (did you mean '\($0.shortened)'?)" } ?? ""
        warnings.add(
          entry.pointer.key(CaptionKeys.speakers.name).key(name),
          "'\(name.shortened)' says nothing in the captions of \(place)\(meant)")
      }
    }
  }
}
