import CompositionModel
import Media
import TestMedia
import Testing

@Suite struct CubeFileTests {
  private func read(_ text: String) throws -> CubeFile { try CubeFile(MemorySource(Array(text.utf8)), name: "a.cube") }

  @Test func `a table is read with its domain`() throws {
    let text =
      "\u{FEFF}# made by hand\r\nTITLE \"A # title\"\r\n\r\nLUT_1D_SIZE 2\r\nDOMAIN_MIN 0 0 -1\r\nDOMAIN_MAX 1 2 4\r\n"
      + "0 0.5 1e0\r\n  # between\r\n\t1.25\t-.5 0.25 \r\n"
    let file = try read(text)
    #expect(file.format == ColourTableFormat(dimensions: 1, size: 2))
    #expect(file.domain == [0...1, 0...2, -1...4])
    #expect(file.values == [0, 0.5, 1, 1.25, -0.5, 0.25])
    #expect(try CubeFile.isOne(MemorySource(Array(text.utf8))))
    let resolve = "LUT_3D_SIZE 2\nLUT_3D_INPUT_RANGE 0.0 0.5\n" + String(repeating: "0 0 0\n", count: 8)
    #expect(try read(resolve).domain == [0...0.5, 0...0.5, 0...0.5])
  }

  @Test func `a table is probed as one`() throws {
    let text = "LUT_3D_SIZE 2\n" + String(repeating: "0 0 0\n", count: 8)
    let description = try AssetProbe.probe(MemorySource(Array(text.utf8)), name: "a.cube")
    #expect(description.colourTable == ColourTableFormat(dimensions: 3, size: 2))
    #expect(description.tracks.isEmpty)
    for other in ["", "WEBVTT\n", "TITLE_OF_A_SONG\n", "\u{0}\u{1}\u{2}", "# LUT_3D_SIZE 2\nhello"] {
      #expect(try !CubeFile.isOne(MemorySource(Array(other.utf8))))
    }
  }

  @Test(arguments: [
    ("", "no LUT_1D_SIZE"), ("TITLE \"x\"\n", "no LUT_1D_SIZE"), ("0 0 0\n", "line 1: an entry"),
    ("LUT_3D_SIZE 2\n0 0 0\n", "1 entries; a table of this size has 8"),
    ("LUT_1D_SIZE 2\n0 0 0\n1 1 1\n\n1 1 1\n", "line 5: one entry more than the 2"),
    ("LUT_1D_SIZE 2\n0 0\n1 1 1\n", "line 2: three numbers"), ("LUT_1D_SIZE 2\n0 0 0 0\n1 1 1\n", "line 2: three"),
    ("LUT_1D_SIZE 2\nnan 0 0\n1 1 1\n", "line 2"), ("LUT_1D_SIZE 2\ninf 0 0\n1 1 1\n", "line 2"),
    ("LUT_1D_SIZE 2\n0x1p3 0 0\n1 1 1\n", "line 2"), ("LUT_1D_SIZE 2\n1e999 0 0\n1 1 1\n", "line 2"),
    ("LUT_3D_SIZE 130\n", "from 2 to 129"), ("LUT_3D_SIZE 1\n", "from 2 to 129"),
    ("LUT_3D_SIZE 2.5\n", "from 2 to 129"),
    ("LUT_3D_SIZE -7\n", "line 1"), ("LUT_3D_SIZE\n", "line 1"), ("LUT_3D_SIZE 1e300\n", "line 1"),
    ("LUT_1D_SIZE 65537\n", "from 2 to 65536"), ("LUT_1D_SIZE 2\nLUT_3D_SIZE 2\n", "line 2: a second size"),
    ("LUT_1D_SIZE 2\nDOMAIN_MIN 0 0\n", "line 2: DOMAIN_MIN"),
    ("LUT_1D_SIZE 2\n0 0 0\nDOMAIN_MAX 1 1 1\n1 1 1", "before"),
    ("LUT_1D_SIZE 2\nDOMAIN_MIN 1 1 1\n0 0 0\n1 1 1\n", "a domain from 1.0 to 1.0"),
    ("LUT_1D_SIZE 2\nDOMAIN_MAX 1e9 1 1\n0 0 0\n1 1 1\n", "a domain"),
    ("LUT_1D_SIZE 2\nHELLO 1\n0 0 0\n", "line 2"),
  ])
  func `what is no table is refused with its line`(text: String, message: String) {
    let error = #expect(throws: MediaError.self) { try read(text) }
    #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
  }

  @Test func `a file that is too large is not read`() {
    final class Endless: ByteSource {
      var byteCount: Int64 { 1 << 40 }
      func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(MediaError) -> Int {
        buffer.count
      }
    }
    let error = #expect(throws: MediaError.self) { try CubeFile(Endless(), name: "a.cube") }
    #expect(error?.code == .tooLarge)
  }
}
