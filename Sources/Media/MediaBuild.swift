internal import CMedia

/// The part of this build's identity that decides how media is read and written.
package enum MediaBuild {
  /// Incremented with each change that gives other bytes for the same request and that no library's version shows.
  private static let revision = 4

  /// The versions of the libraries in use, this module's own revision, and the kind of processor.
  package static var identity: String {
    let versions = [
      ("avformat", avformat_version()), ("avcodec", avcodec_version()), ("swscale", swscale_version()),
      ("swresample", swresample_version()), ("avutil", avutil_version()),
    ]
    let libraries = versions.map { "\($0) \($1 >> 16).\($1 >> 8 & 255).\($1 & 255)" }
    return (["media \(revision)", "ffmpeg \(String(cString: av_version_info()))"] + libraries + [processor])
      .joined(separator: ", ")
  }

  /// The instruction sets that libavcodec and libswresample use for floating-point audio. Each set rounds a sum in another
  /// order, so an mp3 decoded on two kinds of processor differs in its last bits; decoded pictures do not. AVX-512 makes
  /// no difference here, so processors of the last ten years are one kind.
  private static var processor: String {
    let flags = Int32(av_get_cpu_flags())
    #if arch(x86_64)
      let kinds = [
        ("avx", AV_CPU_FLAG_AVX), ("avx2", AV_CPU_FLAG_AVX2), ("fma3", AV_CPU_FLAG_FMA3), ("fma4", AV_CPU_FLAG_FMA4),
      ]
      return (["x86-64"] + kinds.filter { flags & $0.1 != 0 }.map(\.0)).joined(separator: " ")
    #else
      return "processor \(flags)"
    #endif
  }
}
