import Coordinator
import FarmAPI
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import Runtime
import Wire

/// Answers each request: finds its route, finds who asks, and turns what is thrown into a reply.
struct Responder: Sendable {
  /// A body of so many bytes is read to its end, so that the connection can be used again.
  private static let shortBody: Int64 = 64 << 10

  let events: EventFeeds
  /// The connections that are open.
  let connections: OpenConnections
  private let farm: FarmService
  private let access: Access
  private let limits: HTTPLimits
  private let logger: Logger
  private let table: RouteTable
  private let measurements: Measurements
  private let refusals: RefusalLog

  init(_ farm: FarmService, access: Access, limits: HTTPLimits, logger: Logger) {
    self.farm = farm
    self.access = access
    self.limits = limits
    self.logger = logger
    refusals = RefusalLog(logger)
    let measurements = Measurements()
    let connections = OpenConnections(limit: limits.connections)
    let feeds = EventFeeds(farm)
    let bodies = BodyReader(limits, most: limits.bodies)
    let inspected = BodyReader(limits, most: limits.inspections)
    let stills = Quota(limits.inspections, of: "requests of stills")
    let watched = Quota(limits.inspections * 4, of: "requests of films that are watched")
    let streams = EventRoutes(feeds, limits)
    let content = ContentRoutes(bodies, limits)
    let ofFarm = FarmRoutes(measurements) {
      OpenRequests(
        connections: connections.count, streams: streams.quota.underWay, uploads: content.quota.underWay)
    }
    table = RouteTable(
      JobRoutes(bodies).routes + FilmRoutes(stills).routes + StillRoutes(inspected, stills).routes
        + WatchRoutes(watched).routes
        + streams.routes + content.routes + DocumentRoutes(inspected).routes + ofFarm.routes
        + WebhookRoutes(bodies).routes + AccessRoutes(bodies).routes + PageRoutes().routes)
    self.measurements = measurements
    self.connections = connections
    events = feeds
    farm.follow(refusals)
  }

  /// Logs what is counted of refusals.
  func flush() { refusals.flush() }

  /// Counts what happens in the farm, until it is cancelled.
  func follow() async {
    for await event in farm.ownEvents() { measurements.count(event) }
  }

  func respond(to request: Request, _ writer: consuming ResponseWriter, _ channel: any Channel) async throws {
    let address = channel.remoteAddress?.ipAddress ?? ""
    let asked = await access.asked(for: request.head, from: address)
    if request.headers[.expect]?.lowercased() == "100-continue", (try? asked.get()) != nil, mayBegin(request) {
      try await writer.writeInformationalHead(HTTPResponse(status: .continue))
    }
    // A token that is revoked meanwhile ends what it began.
    let farm = (try? asked.get()) ?? farm
    let open = await farm.opens { channel.close(mode: .all, promise: nil) }
    do {
      try await respond(to: request, asked, writer, channel, address)
      await farm.closes(open)
    } catch {
      await farm.closes(open)
      throw error
    }
  }

  private func respond(
    to request: Request, _ asked: Result<FarmService, any Error>, _ writer: consuming ResponseWriter,
    _ channel: any Channel, _ address: String
  ) async throws {
    let (response, template) = await answer(request, asked)
    if let refusal = Self.refusal(of: asked), request.headers.contains(.authorization) {
      refusals.refused("requests over HTTP with \(refusal)", address)
      // Whoever guesses has few guesses.
      try await Task.sleep(for: WireProtocol.refusalDelay)
    }
    measurements.count(request: template, status: response.status.code)
    var head = response.head
    // The rest of a body that is refused is not waited for if it may be long.
    let length = request.headers[.contentLength].flatMap { Int64($0) }
    let isLong = length.map { $0 > Self.shortBody } ?? request.headers.contains(.transferEncoding)
    let closes = response.status.code >= 400 && (isLong || head.headerFields[.connection] == "close")
    if closes { head.headerFields[.connection] = "close" }
    let watch = StallWatch(channel, limit: limits.stall)
    let watching = watch.start()
    defer { watching.cancel() }
    if request.method == .head {
      try await writer.writeResponse(head)
    } else {
      try await response.body.write(WatchedWriter(writer.writeHead(head), watch))
    }
    if closes { channel.close(mode: .input, promise: nil) }
  }

  /// Why nobody who may be a client has sent a request. Nil: somebody has, or the store does not answer.
  private static func refusal(of asked: Result<FarmService, any Error>) -> String? {
    guard case .failure(let error) = asked else { return nil }
    if let error = error as? FarmError, error.code == .forbidden { return "a token of workers" }
    return (error as? ProblemDetails)?.kind == .unauthorized ? "a wrong token" : nil
  }

  /// Whether the client may send the body. The reply says why not.
  private func mayBegin(_ request: Request) -> Bool {
    let path = (request.head.path ?? "/").prefix { $0 != "?" }
    guard case .route(let route, _) = table.match(request.method, path) else { return false }
    // The bodies of other routes are content.
    guard route.method == .post else { return true }
    return request.headers[.contentLength].flatMap { Int64($0) } ?? 0 <= Int64(BodyReader.longestBody)
  }

  /// The reply, and the template of the path for the count of requests.
  private func answer(
    _ request: Request, _ asked: Result<FarmService, any Error>
  ) async -> (Response, template: String) {
    var template = "unknown"
    do {
      // What stands before the server may have judged the request by another of its hosts (RFC 9112, 3.2).
      if let host = request.head.authority, host.isEmpty || host.contains(where: { $0 == "," || $0 == " " }) {
        throw ProblemDetails(.badRequest, "a request has one header Host, and not \"\(host.prefix(128))\"")
      }
      let path = request.head.path ?? "/"
      let parts = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
      switch table.match(request.method, parts.first ?? "/") {
      case .nothing:
        _ = try asked.get()
        throw ProblemDetails(.notFound, "there is no path \(parts.first?.prefix(256) ?? "/")")
      case .otherMethods(let methods, let known):
        template = known
        _ = try asked.get()
        let allowed = methods.map(\.rawValue).joined(separator: ", ")
        var problem = ProblemDetails(.methodNotAllowed, "the methods of this path are \(allowed)")
        problem.headers[.allow] = allowed
        throw problem
      case .route(let route, let parameters):
        template = route.template
        let farm = route.isOpen ? farm : try asked.get()
        if let permission = route.permission { try farm.require(permission) }
        let query = try Query(parts.count > 1 ? String(parts[1]) : nil, names: route.query)
        let response = try await route.handler(Call(request: request, parameters: parameters, query: query, farm: farm))
        // What only reads can be refused afterwards.
        let type = response.headers[.contentType]
        if route.method == .get, response.status.code < 300, let type, let accepted = request.headers[.accept],
          !MediaRange.accept(accepted, type)
        {
          throw ProblemDetails(.notAcceptable, "the reply is \(type), and the request accepts \(accepted.prefix(256))")
        }
        return (response, template)
      }
    } catch {
      return (reply(to: error, request).response, template)
    }
  }

  private func reply(to error: any Error, _ request: Request) -> ProblemDetails {
    switch error {
    case let error as ProblemDetails: return error
    case let error as FarmError: return ProblemDetails(error)
    case is CancellationError: return ProblemDetails(.unavailable, "the coordinator is shutting down")
    default:
      logger.error("request failed", metadata: ["path": "\(request.uri.path)", "error": "\(error)"])
      return ProblemDetails(.internal, "the coordinator's log has the reason")
    }
  }
}
