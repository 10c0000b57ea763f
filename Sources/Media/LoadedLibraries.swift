internal import CMedia
internal import Digest
internal import SystemSupport

/// A shared library that decides pictures or samples, as it is loaded in this process.
package struct LoadedLibrary: Sendable, Hashable {
  /// Such as `libx264.so.164`.
  package var name: String
  /// Lower-case hexadecimal: what the linker recorded as the identity of the library's contents, or else the SHA-256 of
  /// its file. Two builds of one version have different ones.
  package var identity: String
}

/// The loaded libraries that decide pictures or samples, as they are at run time: a library that is replaced under the
/// same version by a distribution's update is another one.
package enum LoadedLibraries {
  /// The starts of the libraries' names.
  private static let names: [String] = [
    // libav* and the decoders and encoders under it.
    "avcodec", "avfilter", "avformat", "avutil", "swresample", "swscale", "aom", "bz2", "codec2", "dav1d", "ebur128",
    "gme", "gsm",
    "jxl", "lcms2", "lzma", "mp3lame", "mpg123", "openh264", "openjp2", "openmpt", "opus", "rav1e", "rsvg",
    "rubberband", "fftw", "samplerate", "shine", "snappy", "soxr", "speex", "svtav1", "theora", "twolame", "vorbis",
    "vpx", "webp", "x264", "x265", "xvidcore", "z.",
    // Text.
    "ass.", "brotli", "cairo", "datrie", "fontconfig", "freetype", "fribidi", "glib-2", "graphite2", "harfbuzz",
    "pango",
    "pixman", "png", "thai",
    // Mathematical functions.
    "m.", "mvec.",
  ]

  /// Sorted by name. libavfilter, which is linked by none and loaded when audio is filtered or the colours of a GIF
  /// are chosen, is loaded by this. Throws if a library's identity cannot be determined.
  package static func all() throws(MediaError) -> [LoadedLibrary] {
    // Without libavfilter no audio can be filtered, and a task that needs it fails with the reason.
    var reason = [CChar](repeating: 0, count: 256)
    _ = sheaf_audio_filters_load(&reason, reason.count)
    var found: [(path: String, id: [UInt8])] = []
    withUnsafeMutablePointer(to: &found) { found in
      sheaf_each_library(
        { context, path, id, size in
          guard let path, let list = context?.assumingMemoryBound(to: [(path: String, id: [UInt8])].self) else {
            return
          }
          let identity = Array(UnsafeBufferPointer(start: id, count: id == nil ? 0 : size))
          list.pointee.append((String(cString: path), identity))
        }, found)
    }
    var libraries: [LoadedLibrary] = []
    for library in found {
      guard let name = library.path.split(separator: "/").last.map(String.init), decidesOutput(name) else { continue }
      libraries.append(LoadedLibrary(name: name, identity: try identity(library.path, library.id)))
    }
    return libraries.sorted { ($0.name, $0.identity) < ($1.name, $1.identity) }
  }

  /// Whether a library of this file name is one of those that decide pictures or samples.
  package static func decidesOutput(_ name: String) -> Bool {
    let bare = name.lowercased()
    return bare.hasPrefix("lib") && names.contains { bare.dropFirst(3).hasPrefix($0) }
  }

  /// The number of libraries, and the first 16 digits of the SHA-256 of their list.
  package static func summary(_ libraries: [LoadedLibrary]) -> String {
    let digest = SHA256Digest.of(libraries.map { "\($0.name) \($0.identity)\n" }.joined().utf8)
    return "libraries-\(libraries.count)-\(digest.hex.prefix(16))"
  }

  private static func identity(_ path: String, _ id: [UInt8]) throws(MediaError) -> String {
    if !id.isEmpty {
      return id.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
    do {
      return try OpenFile.open(path).content().digest.hex
    } catch {
      throw MediaError(
        .io, operation: "identifying", subject: "the library \(path)", message: "\(error)")
    }
  }
}
