import CCurl
import Glibc
import Synchronization

/// One POST by libcurl. It blocks, and follows no redirection and no proxy of the environment.
final class HTTPPost: Sendable {
  /// From the look-up of the name to the end of the reply, in seconds.
  private static let longestTime = 15
  /// To a connection, in seconds.
  private static let longestConnect = 5
  /// Of the reply's body, which is not used.
  private static let mostBytes = 1 << 20

  private static let isReady: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  private let rule: AddressRule
  private let isStopped = Atomic(false)
  private let refused = Mutex<[UInt8]?>(nil)
  private let received = Atomic(0)

  init(_ rule: AddressRule) {
    self.rule = rule
  }

  /// Ends it soon, from any thread.
  func stop() { isStopped.store(true, ordering: .relaxed) }

  func run(_ message: SignedMessage, to url: String) -> SendingSchedule.Attempt {
    guard Self.isReady, let handle = curl_easy_init() else { return .failed("libcurl cannot be used") }
    defer { curl_easy_cleanup(handle) }
    var headers: UnsafeMutablePointer<curl_slist>?
    defer { curl_slist_free_all(headers) }
    // Without `Expect` a long body would be announced first, and its absence is what an empty value says.
    for header in message.headers.map({ "\($0.name): \($0.value)" }) + ["Expect:"] {
      guard let longer = curl_slist_append(headers, header) else { return .failed("there is no memory") }
      headers = longer
    }
    return message.body.withUnsafeBytes { body in
      configure(handle, url, headers, body)
      let code = curl_easy_perform(handle)
      // The rest of a long reply is not read: its status is known.
      guard code == CURLE_OK || code == CURLE_WRITE_ERROR && isLong else { return .failed(reason(code)) }
      var status = 0
      var wait: curl_off_t = 0
      guard sheaf_curl_status(handle, &status) == CURLE_OK, sheaf_curl_retry_after(handle, &wait) == CURLE_OK else {
        return .failed("libcurl does not know the status of the reply")
      }
      return .answered(status: Int32(clamping: status), wait: .seconds(max(wait, 0)))
    }
  }

  /// Every option is one of this libcurl, so none is refused.
  private func configure(
    _ handle: UnsafeMutableRawPointer, _ url: String, _ headers: UnsafeMutablePointer<curl_slist>?,
    _ body: UnsafeRawBufferPointer
  ) {
    let context = Unmanaged.passUnretained(self).toOpaque()
    let texts: [(CURLoption, String)] = [
      (CURLOPT_URL, url), (CURLOPT_PROTOCOLS_STR, "http,https"), (CURLOPT_PROXY, ""), (CURLOPT_USERAGENT, "Sheaf"),
    ]
    for (option, value) in texts { _ = sheaf_curl_set_text(handle, option, value) }
    let numbers: [(CURLoption, Int)] = [
      (CURLOPT_NOSIGNAL, 1), (CURLOPT_POST, 1), (CURLOPT_POSTFIELDSIZE, body.count),
      (CURLOPT_TIMEOUT, Self.longestTime), (CURLOPT_CONNECTTIMEOUT, Self.longestConnect),
      (CURLOPT_FOLLOWLOCATION, 0), (CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)),
    ]
    for (option, value) in numbers { _ = sheaf_curl_set_number(handle, option, value) }
    _ = sheaf_curl_set_pointer(handle, CURLOPT_POSTFIELDS, UnsafeMutableRawPointer(mutating: body.baseAddress))
    _ = sheaf_curl_set_headers(handle, headers)
    _ = sheaf_curl_set_open(handle, { HTTPPost.at($0).open($2) }, context)
    _ = sheaf_curl_set_write(handle, { HTTPPost.at($3).take($1 * $2) }, context)
    _ = sheaf_curl_set_progress(handle, { context, _, _, _, _ in HTTPPost.at(context).mustStop ? 1 : 0 }, context)
  }

  private static func at(_ context: UnsafeMutableRawPointer?) -> HTTPPost {
    guard let context else { preconditionFailure("libcurl calls with what it was given") }
    // `run` is under way, and holds the object.
    return Unmanaged<HTTPPost>.fromOpaque(context).takeUnretainedValue()
  }

  /// What is connected to is checked, whatever name it was found by.
  private func open(_ address: UnsafeMutablePointer<curl_sockaddr>?) -> curl_socket_t {
    guard let address, let bytes = Self.bytes(of: address), rule.allows(bytes) else {
      refused.withLock { $0 = address.flatMap { Self.bytes(of: $0) } ?? [] }
      return sheaf_curl_no_socket
    }
    return sheaf_curl_open_socket(address)
  }

  private static func bytes(of address: UnsafeMutablePointer<curl_sockaddr>) -> [UInt8]? {
    let length = Int(address.pointee.addrlen)
    // An address of IPv6 is longer than a `sockaddr`; libcurl has room for it.
    let start = UnsafeRawPointer(address) + (MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 0)
    switch address.pointee.family {
    case AF_INET where length >= MemoryLayout<sockaddr_in>.size:
      var found = start.loadUnaligned(as: sockaddr_in.self).sin_addr
      return withUnsafeBytes(of: &found) { Array($0) }
    case AF_INET6 where length >= MemoryLayout<sockaddr_in6>.size:
      var found = start.loadUnaligned(as: sockaddr_in6.self).sin6_addr
      return withUnsafeBytes(of: &found) { Array($0) }
    default: return nil
    }
  }

  private func take(_ count: Int) -> Int {
    received.add(count, ordering: .relaxed).newValue <= Self.mostBytes ? count : 0
  }

  private var isLong: Bool { received.load(ordering: .relaxed) > Self.mostBytes }

  private var mustStop: Bool { isStopped.load(ordering: .relaxed) }

  private func reason(_ code: CURLcode) -> String {
    if mustStop { return "the coordinator stopped" }
    if refused.withLock({ $0 }) != nil {
      return "the address is not of the public Internet, and its network is not allowed (--webhook-allow)"
    }
    return String(cString: curl_easy_strerror(code))
  }
}
