/// The bounds within which clients may use the HTTP face.
package struct HTTPLimits: Sendable {
  /// Further connections wait until one is closed.
  package var connections = 4096
  /// How long a connection may be idle, and how long a part of a request may take.
  package var idle = Duration.seconds(60)
  /// How long a client may take nothing of a reply before its connection is closed.
  package var stall = Duration.seconds(30)
  /// How long the body of a request may take that is read whole.
  package var body = Duration.seconds(60)
  /// The fewest bytes a second of a body, once it has taken `bodyGrace`.
  package var bodyRate = 16 << 10
  package var bodyGrace = Duration.seconds(5)
  /// The most bytes of a request's header.
  package var header = 32 << 10
  /// Between two comments of a stream of events.
  package var comment = Duration.seconds(15)
  /// The streams of events that are open at a time.
  package var streams = 2000
  /// The uploads that are under way at a time.
  package var uploads = 64
  /// The long bodies that are read at a time, and the bodies that are carried out.
  package var bodies = 16
  /// The inspections that are under way at a time: `check`, `plan`, `probe` and stills.
  package var inspections = 16

  package init() {}
}
