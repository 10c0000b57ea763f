internal import CMedia

/// A chain of libavfilter's audio filters, on rows of 32-bit float. A filter's first sample is the chain's first: what
/// a filter looks ahead at does not move the sound.
package final class AudioFilterChain {
  private let chain: OpaquePointer

  /// Throws `.unsupported` if libavfilter is missing or refuses.
  /// - Parameters:
  ///   - filters: libavfilter's names and the options of each, of which no text comes from a document.
  ///   - sampleRate: Samples a second.
  package init(
    _ filters: [(name: String, options: [(String, String)])], sampleRate: Int, channels: Int
  ) throws(MediaError) {
    var opened: OpaquePointer?
    try checkFilters("filtering", "sound") {
      sheaf_audio_filters_open(&opened, Int32(clamping: sampleRate), Int32(clamping: channels), $0, $1)
    }
    chain = try allocated(opened, "making a chain of filters")
    for (name, options) in filters {
      let texts = options.flatMap { [$0.0, $0.1] }
      try checkFilters("filtering", "sound") { message, size in
        withCStrings(texts) { sheaf_audio_filters_add(chain, name, $0, Int32(texts.count), message, size) }
      }
    }
    try checkFilters("filtering", "sound") { sheaf_audio_filters_start(chain, $0, $1) }
  }

  deinit { sheaf_audio_filters_close(chain) }

  /// Takes all samples of a block.
  package func send(_ block: SampleBlock) throws(MediaError) {
    let status = block.withConstantRows { sheaf_audio_filters_send(chain, $0, Int32(block.capacity)) }
    guard status >= 0 else { throw Self.failure("the filters refused samples", status) }
  }

  /// Writes at most `count` samples to a block, from `start` on. Returns how many; zero if more have to be sent first.
  package func receive(into block: SampleBlock, from start: Int, count: Int) throws(MediaError) -> Int {
    let received = block.withRows(from: start) {
      sheaf_audio_filters_receive(chain, UnsafePointer($0), Int32(count))
    }
    guard received >= 0 else { throw Self.failure("the filters returned no samples", received) }
    return Int(received)
  }

  /// libavfilter refused samples; `status` is libav's.
  private static func failure(_ message: String, _ status: Int32) -> MediaError {
    MediaError(
      .unsupported, operation: "filtering", subject: "sound", message: "\(message) (status \(status))")
  }
}

/// Strings as C takes a list of them. The pointers are valid inside `body` only.
private func withCStrings<Result>(
  _ texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Result
) -> Result {
  // All texts in one buffer, each with its end.
  let bytes = texts.flatMap { $0.utf8CString }
  return bytes.withUnsafeBufferPointer { buffer in
    var pointers: [UnsafePointer<CChar>?] = []
    var start = 0
    for text in texts {
      pointers.append(buffer.baseAddress.map { $0 + start })
      start += text.utf8.count + 1
    }
    return pointers.withUnsafeBufferPointer { body($0.baseAddress) }
  }
}
