import CMedia
import Testing

@testable import Media

@Suite struct MediaBuildTests {
  @Test func `the identity names the libraries and the level of the processor`() {
    #expect(MediaBuild.identity.contains("avcodec 59."))
    #expect(MediaBuild.identity.contains(", x86-64") || MediaBuild.identity.contains(", processor"))
  }

  #if arch(x86_64)
    private static let old =
      AV_CPU_FLAG_MMX | AV_CPU_FLAG_MMXEXT | AV_CPU_FLAG_SSE | AV_CPU_FLAG_SSE2 | AV_CPU_FLAG_SSE3
      | AV_CPU_FLAG_CMOV
    private static let middle = old | AV_CPU_FLAG_SSSE3 | AV_CPU_FLAG_SSE4 | AV_CPU_FLAG_SSE42
    private static let recent =
      middle | AV_CPU_FLAG_AVX | AV_CPU_FLAG_AVX2 | AV_CPU_FLAG_FMA3 | AV_CPU_FLAG_BMI1
      | AV_CPU_FLAG_BMI2 | AV_CPU_FLAG_AESNI

    @Test func `a processor without SSSE3 is of another level`() {
      #expect(ProcessorLevel(detected: Self.old).name == "x86-64")
      #expect(ProcessorLevel(detected: Self.middle).name == "x86-64-v2")
      #expect(ProcessorLevel(detected: Self.recent & ~AV_CPU_FLAG_SSSE3).name == "x86-64 avx avx2 fma3")
    }

    @Test func `instruction sets beyond a level's are named or not used`() {
      let recent = ProcessorLevel(detected: Self.recent)
      #expect(recent.name == "x86-64-v3")
      for more in [AV_CPU_FLAG_AVX512, AV_CPU_FLAG_FMA4, AV_CPU_FLAG_SLOW_GATHER, AV_CPU_FLAG_AVXSLOW] {
        #expect(ProcessorLevel(detected: Self.recent | more) == recent)
      }
      let bulldozer = ProcessorLevel(detected: Self.middle | AV_CPU_FLAG_AVX | AV_CPU_FLAG_FMA4)
      #expect(bulldozer.name == "x86-64-v2 avx fma4")
      #expect(bulldozer.flags == ProcessorLevel(detected: Self.middle).flags)
    }

    @Test func `libav uses the sets of the level and no others`() {
      let level = ProcessorLevel.pin()
      #expect(av_get_cpu_flags() == level.flags)
      #expect(ProcessorLevel.pin() == level)
    }
  #endif
}
