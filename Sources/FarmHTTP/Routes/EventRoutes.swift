import Coordinator
import Digest
import FarmAPI
import FarmModel
import FoundationEssentials
import HTTPTypes
import HummingbirdCore
import NIOCore
import SystemSupport

/// Streams of server-sent events: of the whole farm, and of one job.
struct EventRoutes: Sendable {
  // Their names are constants that are valid.
  private static let lastEventID = HTTPField.Name("Last-Event-ID")!
  private static let buffering = HTTPField.Name("X-Accel-Buffering")!

  private let feeds: EventFeeds
  let quota: Quota
  private let comment: Duration

  init(_ feeds: EventFeeds, _ limits: HTTPLimits) {
    self.feeds = feeds
    comment = limits.comment
    quota = Quota(limits.streams, of: "streams of events")
  }

  var routes: [Route] {
    [
      Route(.get, "/v1/events", for: .see) { call in
        let last = call.header(Self.lastEventID).flatMap { EventID($0) }
        let feed = try await feeds.feed(for: call.farm)
        return try stream(of: call) { try await watchFarm(feed, call.farm, from: last, &$0) }
      },
      Route(.get, "/v1/jobs/{job}/events", for: .see) { call in
        let last = call.header(Self.lastEventID)
        guard let status = try await call.farm.status(of: call.job) else { throw JobRoutes.absent(call.job) }
        // The client has the last event: with this answer it does not ask again.
        if status.hasEnded, status.eventID == last { return Response(status: .noContent) }
        return try stream(of: call) { try await watch(call.job, call.farm, from: last, &$0) }
      },
    ]
  }

  /// - Parameter write: Writes events until the stream ends.
  private func stream(
    of call: Call, _ write: @escaping @Sendable (inout EventWriter) async throws -> Void
  ) throws -> Response {
    // A refusal must come before the stream begins; when it does, others may have taken the last place.
    try quota.check()
    let body = ResponseBody { writer in
      try await quota.run {
        var events = EventWriter(writer)
        // Ends when the client closes the connection, also while nothing is written.
        try await call.request.body.consumeWithCancellationOnInboundClose { _ in
          try await events.begin()
          try await write(&events)
        }
      }
      try await writer.finish(nil)
    }
    // Proxies must not keep events back.
    return Response(
      status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store", Self.buffering: "no"],
      body: body)
  }

  // MARK: The farm

  private func watchFarm(
    _ feed: EventFeed, _ farm: FarmService, from last: EventID?, _ events: inout EventWriter
  ) async throws {
    await feed.enter()
    do {
      try await follow(feed, farm, from: last, &events)
    } catch {
      await feed.leave()
      throw error
    }
    await feed.leave()
  }

  private func follow(
    _ feed: EventFeed, _ farm: FarmService, from last: EventID?, _ events: inout EventWriter
  ) async throws {
    var place = last
    // Of a client that comes back: up to where it has the farm's events.
    var seen = last?.place
    while !Task.isCancelled {
      guard let known = place else {
        guard let snapshot = await feed.snapshot(after: seen) else {
          // Without an answer of the store there is no state to show.
          try await events.comment()
          try await Task.sleep(for: .seconds(1))
          if await farm.isDraining { return }
          continue
        }
        while let from = seen, from != .beginning, from < snapshot.id.place {
          let missed = try await feed.missed(after: from, before: snapshot.id.place)
          for frame in missed.frames { try await events.write(frame) }
          seen = missed.to
        }
        try await events.write(snapshot.frame)
        (place, seen) = (snapshot.id, nil)
        continue
      }
      switch await feed.next(after: known, atMost: comment) {
      case .events(let frames, let next):
        try await events.write(frames)
        (place, seen) = (next, next.place)
      case .quiet: try await events.comment()
      case .lost: place = nil
      case .ended: return
      }
    }
  }

  // MARK: A job

  private func watch(
    _ job: JobID, _ farm: FarmService, from last: String?, _ events: inout EventWriter
  ) async throws {
    let latest = LatestStatus()
    let following = Task {
      do {
        for try await status in try await farm.watch(job) { await latest.set(status) }
      } catch {
        // The store has failed for good: the stream ends, and `/readyz` has the reason.
      }
      await latest.end()
    }
    defer { following.cancel() }
    var known = last
    var quiet = Duration.zero
    while true {
      switch await latest.next(atMost: .seconds(1)) {
      case .status(let status):
        guard status.eventID != known else { continue }
        known = status.eventID
        try await events.write(
          ServerSentEvent.frame("job", status.eventID, JSONCoding.encoder.encode(status)))
        quiet = .zero
      case .deleted:
        return try await events.write(ServerSentEvent.frame("deleted", nil, Data(#"{"job":"\#(job)"}"#.utf8)))
      case .ended: return
      case .quiet:
        try Task.checkCancellation()
        if await farm.isDraining { return }
        quiet += .seconds(1)
        guard quiet >= comment else { continue }
        try await events.comment()
        quiet = .zero
      }
    }
  }
}

/// The last status of a watched job. One that is not read yet is replaced by the next.
private actor LatestStatus {
  enum Step: Sendable {
    case status(JobStatus)
    /// There is no such job any more.
    case deleted
    /// The job has ended, or the store has failed for good.
    case ended
    /// Nothing came within the time.
    case quiet
  }

  private let signal = ChangeSignal()
  private var unread: Step?
  private var hasEnded = false

  func set(_ status: JobStatus?) async {
    unread = status.map { .status($0) } ?? .deleted
    await signal.signal()
  }

  func end() async {
    hasEnded = true
    await signal.signal()
  }

  func next(atMost limit: Duration) async -> Step {
    let seen = await signal.count
    if let step = take() { return step }
    _ = await signal.wait(since: seen, atMost: limit)
    return take() ?? .quiet
  }

  private func take() -> Step? {
    defer { unread = nil }
    return unread ?? (hasEnded ? .ended : nil)
  }
}

extension JobStatus {
  /// The same for the same status, at every coordinator: whoever has it needs no event for it.
  fileprivate var eventID: String {
    // Every number of a status is finite, so it can be written.
    guard let data = try? JSONCoding.encoder.encode(withoutTimes) else { return "" }
    return String(SHA256Digest.of(data).hex.prefix(24))
  }
}

/// Writes events of a stream.
struct EventWriter {
  private var writer: any ResponseBodyWriter

  init(_ writer: any ResponseBodyWriter) {
    self.writer = writer
  }

  /// How long a client waits before it connects again, in milliseconds.
  mutating func begin() async throws { try await write("retry: 2000\n\n") }

  /// A line that means nothing, by which both ends see that the connection lives.
  mutating func comment() async throws { try await write(": \n\n") }

  /// How much of an event is written at a time, in bytes, so that no connection has all of a large one waiting.
  private static let part = 64 << 10

  mutating func write(_ frame: ByteBuffer) async throws {
    var rest = frame
    while let part = rest.readSlice(length: min(rest.readableBytes, Self.part)), part.readableBytes > 0 {
      try await writer.write(part)
    }
  }

  private mutating func write(_ text: String) async throws { try await writer.write(ByteBuffer(string: text)) }
}
