import EditDocument
import FoundationEssentials

/// What transitions look like. OpenTimelineIO has the dissolve, and leaves all others to programs.
enum OTIOTransitions {
  static let dissolve = "SMPTE_Dissolve"
  static let custom = "Custom_Transition"
  /// The name of the data in which a document's own transition is: the object of its key `transition`.
  static let data = "sheaf"

  /// Nil: it has no data of a document, or such of another version.
  static func style(of object: OTIOObject) -> Document.TransitionStyle? {
    guard let value = object.metadata?[data] else { return nil }
    do {
      return try JSONDecoder().decode(Document.ClipTransition.self, from: JSONEncoder().encode(value)).style
    } catch {
      return nil  // It is noted as a transition of another program.
    }
  }

  /// Sets the type, and the data unless it is a plain dissolve.
  static func write(_ style: Document.TransitionStyle, to object: inout OTIOObject) {
    guard style != Document.TransitionStyle(), style != Document.TransitionStyle(.dissolve) else {
      object.transitionType = dissolve
      return
    }
    object.transitionType = custom
    var transition = Document.ClipTransition()
    transition.style = style
    object.metadata = [data: transition.json]
  }
}
