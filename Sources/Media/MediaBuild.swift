internal import CMedia

/// The part of this build's identity that decides how media is read and written.
package enum MediaBuild {
  /// Incremented with each change that gives other bytes for the same request and that no library's version shows.
  private static let revision = 24

  /// Limits libav* to the instruction sets of the processor's level (`ProcessorLevel`), from now on and in every
  /// thread.
  package static func pinProcessor() { _ = ProcessorLevel.pin() }

  /// The versions of the libraries in use, this module's own revision, and the level of the processor, which this pins.
  package static var identity: String {
    let versions = [
      ("avformat", avformat_version()), ("avcodec", avcodec_version()), ("swscale", swscale_version()),
      ("swresample", swresample_version()), ("avutil", avutil_version()),
    ]
    let libraries = versions.map { "\($0) \($1 >> 16).\($1 >> 8 & 255).\($1 & 255)" }
    return
      (["media \(revision)", "ffmpeg \(String(cString: av_version_info()))"] + libraries
      + [ProcessorLevel.pin().name]).joined(separator: ", ")
  }
}

/// The instruction sets that this process's libraries may use.
///
/// They decide bytes: floating-point audio is rounded in another order by each set, and without SSSE3 MPEG-1, 2 and 4
/// are decoded by other approximations. So libav* is limited to one of three levels of x86-64, which are those of the
/// processor's psABI as far as libav* uses them: two processors of one level compute alike, whatever else they have.
struct ProcessorLevel: Equatable {
  var name: String
  /// libav*'s flags; nil: as the processor is.
  var flags: Int32?

  /// The level of this process's processor, to which libav* is limited from now on, in every thread.
  static func pin() -> ProcessorLevel {
    let level = ProcessorLevel(detected: Int32(av_get_cpu_flags()))
    if let flags = level.flags { av_force_cpu_flags(flags) }
    return level
  }

  #if arch(x86_64)
    private static let first =
      AV_CPU_FLAG_MMX | AV_CPU_FLAG_MMXEXT | AV_CPU_FLAG_SSE | AV_CPU_FLAG_SSE2 | AV_CPU_FLAG_CMOV
    private static let second =
      first | AV_CPU_FLAG_SSE3 | AV_CPU_FLAG_SSSE3 | AV_CPU_FLAG_SSE4 | AV_CPU_FLAG_SSE42
    private static let third =
      second | AV_CPU_FLAG_AVX | AV_CPU_FLAG_AVX2 | AV_CPU_FLAG_FMA3 | AV_CPU_FLAG_BMI1 | AV_CPU_FLAG_BMI2

    /// The highest level of which a processor has everything. Below the third, the sets that the C library's
    /// mathematical functions choose by themselves are named too.
    /// - Parameter flags: libav*'s flags of the processor.
    init(detected flags: Int32) {
      if flags & Self.third == Self.third {
        self.init(name: "x86-64-v3", flags: Self.third)
        return
      }
      let chosen = [
        ("avx", AV_CPU_FLAG_AVX), ("avx2", AV_CPU_FLAG_AVX2), ("fma3", AV_CPU_FLAG_FMA3), ("fma4", AV_CPU_FLAG_FMA4),
      ].filter { flags & $0.1 != 0 }.map(\.0)
      let isSecond = flags & Self.second == Self.second
      self.init(
        name: ([isSecond ? "x86-64-v2" : "x86-64"] + chosen).joined(separator: " "),
        flags: isSecond ? Self.second : Self.first)
    }
  #else
    init(detected flags: Int32) {
      self.init(name: "processor \(flags)", flags: nil)
    }
  #endif

  private init(name: String, flags: Int32?) {
    self.name = name
    self.flags = flags
  }
}
