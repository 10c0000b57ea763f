import Testing

/// What `ffmpeg` decodes of a file: each frame's timestamp, exactly, and the MD5 of its samples.
struct FrameHashes {
  struct Frame: Equatable {
    /// In ticks of `timebase`.
    var pts: Int64
    var hash: Substring
  }

  /// Seconds a tick, as a fraction.
  var timebase: (Int64, Int64)
  var frames: [Frame]

  /// The sound is decoded too, though not returned, because `ffmpeg` puts time zero at the earliest track that it uses.
  /// - Parameter filter: what to do with each frame before it is hashed, such as a crop.
  static func video(_ path: String, filter: String? = nil, pixelFormat: String? = nil) async throws -> FrameHashes {
    var arguments = [
      "-v", "error", "-threads", "1", "-i", path, "-map", "0:v:0", "-map", "0:a?", "-vsync", "passthrough",
    ]
    if let filter { arguments += ["-vf", filter] }
    if let pixelFormat { arguments += ["-pix_fmt", pixelFormat] }
    arguments += ["-enc_time_base", "-1", "-f", "framemd5", "-"]
    let result = try await Command(executable: "ffmpeg", arguments: arguments).run()
    var hashes = FrameHashes(timebase: (0, 1), frames: [])
    for line in result.output.split(separator: "\n") {
      if line.hasPrefix("#tb 0: ") {
        let parts = line.dropFirst(7).split(separator: "/").compactMap { Int64($0) }
        hashes.timebase = (parts[0], parts[1])
      } else if line.hasPrefix("0,") {
        let fields = line.split { $0 == "," || $0 == " " }
        hashes.frames.append(Frame(pts: try #require(Int64(fields[2])), hash: fields[5]))
      }
    }
    return hashes
  }

  /// The frame that is shown at a time of num/den seconds: the last whose timestamp is not after it, or the first.
  func shown(at time: (Int64, Int64)) -> Frame? {
    // pts·tb.0/tb.1 <= time.0/time.1
    let isDue = { (frame: Frame) in
      Int128(frame.pts) * Int128(timebase.0) * Int128(time.1) <= Int128(time.0) * Int128(timebase.1)
    }
    return frames.last(where: isDue) ?? frames.first
  }

  /// The same where frame n is due at n/rate seconds, to whatever time a container has rounded it.
  func shown(at time: (Int64, Int64), rate: (Int64, Int64)) -> Frame? {
    let index = Int128(time.0) * Int128(rate.0) / (Int128(time.1) * Int128(rate.1))
    return frames.isEmpty ? nil : frames[Int(clamping: min(index, Int128(frames.count - 1)))]
  }
}
