import Testing

@testable import LocalFarm

struct ImagePathTests {
  @Test(arguments: [
    ("a.png", "a.png", "a.png"), ("a%d.png", "a1.png", "a12.png"), ("a-%03d.png", "a-001.png", "a-012.png"),
    ("%3d", "001", "012"), ("100%%/%02d.%%", "100%/01.%", "100%/12.%"), ("a%%", "a%", "a%"),
  ])
  func `a picture's name has its number, from 1 on`(pattern: String, first: String, twelfth: String) throws {
    let output = try #require(LocalImages.Output(pattern: pattern))
    #expect(output.path(0) == first && output.path(11) == twelfth)
  }

  @Test(arguments: ["%", "a%s", "%d%d", "%00d", "%10d", "%012d", "%-3d", "%3", "%d%"])
  func `a per cent sign that is no number is refused`(pattern: String) {
    #expect(LocalImages.Output(pattern: pattern) == nil)
  }
}
