import FarmAPI
import NIOCore

/// The last events of a feed, numbered, within a number and a size: pure. What is older is forgotten.
struct EventRing: Sendable {
  struct Event: Sendable, Hashable {
    /// From 1, without gaps.
    var number: UInt64
    /// Of the farm's events, the last that was sent before it, or with it.
    var place: EventPlace
    /// As it is sent, the same bytes for all who watch.
    var frame: ByteBuffer
  }

  private let mostEvents: Int
  private let mostBytes: Int
  private var events: [Event] = []
  /// The index in `events` of the oldest that is kept.
  private var first = 0
  private var bytes = 0
  /// Of the newest event. 0: there was none.
  private(set) var last: UInt64 = 0

  init(mostEvents: Int = 8192, mostBytes: Int = 16 << 20) {
    self.mostEvents = mostEvents
    self.mostBytes = mostBytes
  }

  /// Adds an event, which has the number after `last`.
  mutating func append(_ frame: ByteBuffer, at place: EventPlace) {
    last += 1
    events.append(Event(number: last, place: place, frame: frame))
    bytes += frame.readableBytes
    while events.count - first > mostEvents || bytes > mostBytes, events.count - first > 1 {
      bytes -= events[first].frame.readableBytes
      events[first].frame = ByteBuffer()
      first += 1
    }
    // Half of the array is of use at least.
    if first > events.count / 2 {
      events.removeFirst(first)
      first = 0
    }
  }

  /// The events after a number, at most so many. Nil: some of them are forgotten, or the number was never given.
  func events(after number: UInt64, most: Int = 256) -> ArraySlice<Event>? {
    guard number <= last else { return nil }
    let missing = Int(last - number)
    guard missing <= events.count - first else { return nil }
    return events[(events.count - missing)...].prefix(most)
  }
}

/// The `id` of an event of a stream, which `Last-Event-ID` returns: where the stream goes on at the coordinator that
/// gave it, and at any other.
struct EventID: Sendable, Hashable, CustomStringConvertible {
  /// Names one feed of one coordinator's process.
  var feed: String
  /// Counts in that feed.
  var number: UInt64
  /// The place of the last event of the farm that was sent before it, or with it.
  var place: EventPlace

  init(feed: String, number: UInt64, place: EventPlace) {
    self.feed = feed
    self.number = number
    self.place = place
  }

  /// An id of no feed: whoever returns it gets what has happened since, and the whole state.
  init(_ place: EventPlace) { self.init(feed: "", number: 0, place: place) }

  /// Nil if the text has another form.
  init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 3, let number = UInt64(parts[1]), let place = EventPlace(parts[2]) else { return nil }
    self.init(feed: String(parts[0]), number: number, place: place)
  }

  var description: String { "\(feed)-\(number)-\(place)" }
}
