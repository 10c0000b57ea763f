import FarmAPI
import FarmModel
import Foundation
import HTTPTypes
import NIOCore
import Testing

@testable import FarmHTTP

/// The rules that need no server.
struct RuleTests {
  @Test func `a member's text is found as it was written`() {
    let object = Array(
      #" { "a" : {"document": 1}, "b":[1,{"x":"}"}], "document" :{"x": 1.50, "y": "\"}"} ,"c":true}"#.utf8)
    #expect(
      JSONMember.text("document", in: object).map { String(decoding: $0, as: UTF8.self) } == #"{"x": 1.50, "y": "\"}"}"#
    )
    #expect(JSONMember.text("b", in: object).map { String(decoding: $0, as: UTF8.self) } == #"[1,{"x":"}"}]"#)
    #expect(JSONMember.text("c", in: object).map { String(decoding: $0, as: UTF8.self) } == "true")
    #expect(JSONMember.text("x", in: object) == nil)
    #expect(JSONMember.text("document", in: Array("[]".utf8)) == nil)
    // Whatever the bytes are, it ends.
    for text in ["", "{", "{\"", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":\"\\", "{,}", "{:}", "{}}", "{\"a\" 1}"] {
      #expect(JSONMember.text("document", in: Array(text.utf8)) == nil, "\(text)")
    }
  }

  @Test func `a path finds its route, decoded`() {
    let answer: Route.Handler = { _ in throw CancellationError() }
    let table = RouteTable([
      Route(.get, "/v1/jobs", answer), Route(.post, "/v1/jobs/cancel", answer), Route(.get, "/v1/jobs/{job}", answer),
      Route(.put, "/v1/content/{digest}", answer),
    ])
    func found(_ method: HTTPRequest.Method, _ path: String) -> String {
      switch table.match(method, path) {
      case .route(let route, let values): "\(route.template) \(values.sorted { $0.key < $1.key }.map { $0.value })"
      case .otherMethods(let methods, _): "\(methods.map(\.rawValue))"
      case .nothing: "nothing"
      }
    }
    #expect(found(.get, "/v1/jobs") == "/v1/jobs []")
    #expect(found(.get, "/v1/jobs/a%2Fb%C3%A4") == #"/v1/jobs/{job} ["a/bä"]"#)
    #expect(found(.head, "/v1/jobs/a") == #"/v1/jobs/{job} ["a"]"#)
    #expect(found(.post, "/v1/jobs/cancel") == "/v1/jobs/cancel []")
    // It is no job of this name.
    #expect(found(.get, "/v1/jobs/cancel") == #"["POST"]"#)
    #expect(found(.delete, "/v1/jobs") == #"["GET", "HEAD"]"#)
    #expect(found(.head, "/v1/content/a") == #"["PUT"]"#)
    for path in ["", "/", "v1/jobs", "/v1/jobs/", "/v1/jobs/%", "/v1/jobs/%ff", "/v1/jobs/%zz", "/v1/../v1/jobs"] {
      #expect(found(.get, path) == "nothing", "\(path)")
    }
  }

  @Test func `a ring keeps the last events, and knows what it has forgotten`() {
    var ring = EventRing(mostEvents: 3, mostBytes: 100)
    #expect(ring.events(after: 0) == [] && ring.events(after: 1) == nil)
    for number in 1...10 {
      ring.append(ByteBuffer(string: "\(number)"), at: .beginning)
      for place in 0...number {
        let events = ring.events(after: UInt64(place)).map { $0.map(\.number) }
        #expect(events == (number - place <= min(3, number) ? (place..<number).map { UInt64($0 + 1) } : nil))
      }
    }
    #expect(ring.events(after: 7, most: 2)?.map(\.number) == [8, 9])
    // One that is too large is kept alone, so that whoever is next to it goes on.
    ring.append(ByteBuffer(repeating: 1, count: 200), at: .beginning)
    #expect(ring.events(after: 10)?.count == 1 && ring.events(after: 9) == nil)
  }

  @Test func `the most specific media range decides what is accepted`() {
    for (list, isAccepted) in [
      ("*/*", true), ("application/json", true), ("text/html", false), ("application/*", true), ("", true),
      ("text/html, application/xml;q=0.9, */*;q=0.8", true), ("application/json;q=0, */*", false),
      ("APPLICATION/JSON ; q=0.1", true), ("*/*;q=0.0", false), ("text/event-stream", false),
    ] {
      #expect(MediaRange.accept(list, "application/json; charset=utf-8") == isAccepted, "\(list)")
    }
  }

  @Test func `an id of an event is read as it is written`() {
    let place = EventPlace(transaction: 812, number: 5)
    #expect(EventID("abc-17-812.5") == EventID(feed: "abc", number: 17, place: place))
    #expect("\(EventID(feed: "abc", number: 17, place: place))" == "abc-17-812.5")
    for text in ["", "abc", "abc-", "abc-x", "a-b-1", "abc--1", "abc-1", "a-1-2", "a-1-2.", "a-1-.2", "a-1--2.3"] {
      #expect(EventID(text) == nil, "\(text)")
    }
  }

  @Test func `numbers and labels of metrics are written as Prometheus reads them`() {
    var text = MetricsText()
    text.add("things", .gauge, "Things.", [([("name", "a\"b\\c\nd")], 1.5), ([], -2)])
    var times = DurationHistogram(bounds: [0.5, 1])
    for seconds in [0.25, 3, 4] { times.add(seconds) }
    text.add("times", "Times.", times)
    #expect(
      text.text == #"""
        # HELP sheaf_things Things.
        # TYPE sheaf_things gauge
        sheaf_things{name="a\"b\\c\nd"} 1.5
        sheaf_things -2
        # HELP sheaf_times Times.
        # TYPE sheaf_times histogram
        sheaf_times_bucket{le="0.5"} 1
        sheaf_times_bucket{le="1"} 1
        sheaf_times_bucket{le="+Inf"} 3
        sheaf_times_sum 7.25
        sheaf_times_count 3

        """#)
  }

  @Test(
    arguments: [
      ("127.0.0.1:7480", nil, nil, true), ("localhost", "http://localhost", "same-origin", true),
      ("[::1]:80", nil, "none", true), ("127.9.0.1:1", "http://127.9.0.1:1", nil, true),
      ("localhost", "https://localhost", nil, false),
      ("evil.example", nil, nil, false), ("127.0.0.1.evil.example", nil, nil, false), ("128.0.0.1", nil, nil, false),
      ("127.0.0.1", "http://evil.example", nil, false), ("127.0.0.1:80", "http://127.0.0.1:81", nil, false),
      ("localhost", "null", nil, false), ("localhost", nil, "cross-site", false),
      ("localhost", nil, "same-site", false),
    ] as [(String, String?, String?, Bool)])
  func `a farm without a token answers no page of another site`(
    authority: String, origin: String?, site: String?, isAnswered: Bool
  ) {
    var request = HTTPRequest(method: .get, scheme: "http", authority: authority, path: "/v1/jobs")
    request.headerFields[.origin] = origin
    request.headerFields[HTTPField.Name("Sec-Fetch-Site")!] = site
    var error: ProblemDetails?
    do { try Access.requireOwnSite(request, scheme: "http") } catch let refusal { error = refusal }
    #expect((error == nil) == isAnswered)
    // With TLS a page is its own if it came with TLS.
    guard let origin else { return }
    request.headerFields[.origin] = origin.replacing("http://", with: "https://")
    let isOwn = isAnswered || origin.hasPrefix("https://")
    var secure: ProblemDetails?
    do { try Access.requireOwnSite(request, scheme: "https") } catch let refusal { secure = refusal }
    #expect((secure == nil) == isOwn)
  }
}
