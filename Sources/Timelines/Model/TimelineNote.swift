import CompositionModel

/// Something of a timeline or a document that the other form does not have, or has otherwise, and why.
package struct TimelineNote: Sendable, Hashable, Codable {
  /// Where it is in the file that was read: a JSON pointer, or a line such as `line 12`. Empty: the whole file.
  package var place: String
  /// What it is: `the effect 'Blur' of the clip 'beach'`.
  package var item: String
  /// What became of it, and why.
  package var reason: String

  package init(_ place: String, _ item: String, _ reason: String) {
    (self.place, self.item, self.reason) = (place, item, reason)
  }

  /// As compilers print it: `edit.otio: /tracks/children/0: the effect 'Blur': not taken: …`.
  package func text(in file: String) -> String {
    [file, place, item, reason].filter { !$0.isEmpty }.joined(separator: ": ")
  }
}

/// Notes in the order in which they are made, each once.
struct TimelineNotes: Sendable {
  private(set) var all: [TimelineNote] = []
  private var known: Set<TimelineNote> = []

  mutating func add(_ place: String, _ item: String, _ reason: String) {
    let note = TimelineNote(place, item, reason)
    if known.insert(note).inserted { all.append(note) }
  }

  static func += (notes: inout TimelineNotes, others: [TimelineNote]) {
    for note in others { notes.add(note.place, note.item, note.reason) }
  }
}

/// Why a file cannot be read as a timeline at all, or a document cannot become one.
package struct TimelineError: Error, Sendable, Hashable, CustomStringConvertible {
  /// As of a note.
  package var place: String
  package var message: String

  package init(_ place: String, _ message: String) { (self.place, self.message) = (place, message) }

  init(_ error: TimeError, at place: String = "") { self.init(place, error.description) }

  package var description: String { place.isEmpty ? message : "\(place): \(message)" }
}
