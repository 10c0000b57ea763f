import CompositionModel
import RenderTasks
import TestPrograms
import Testing

@testable import Renderer

@Suite struct FittingTests {
  static let hd = PixelSize(width: 1280, height: 720)
  static let cell420 = ChromaCell(.yuv420p)
  static let cell444 = ChromaCell(.yuv444p)

  static func fit(
    _ width: Int, _ height: Int, _ fit: Fit, frame: PixelSize = hd, cell: ChromaCell = cell420
  ) -> Fitting {
    Fitting(PixelSize(width: width, height: height), fit: fit, frame: frame, cell: cell)
  }

  @Test func `contain is as large as it goes and centred`() {
    let four3 = Self.fit(640, 480, .contain)
    #expect(four3.scaled == PixelSize(width: 960, height: 720))
    #expect(four3.target == PixelRect(x: 160, y: 0, size: PixelSize(width: 960, height: 720)))
    let wide = Self.fit(1920, 800, .contain)
    #expect(wide.scaled == PixelSize(width: 1280, height: 534))  // 533 1/3, to whole chroma cells
    #expect(wide.target == PixelRect(x: 0, y: 92, size: PixelSize(width: 1280, height: 534)))
    let portrait = Self.fit(1080, 1920, .contain)
    #expect(portrait.scaled == PixelSize(width: 406, height: 720))  // 405
    #expect(portrait.target.x == 436)  // 437, down to a cell
    #expect(Self.fit(1080, 1920, .contain, cell: Self.cell444).target.x == 437)
    #expect(Self.fit(1280, 720, .contain).covers(Self.hd))
    #expect(Self.fit(320, 180, .contain).covers(Self.hd))
  }

  @Test func `cover fills the frame and cuts the middle out`() {
    let fitting = Self.fit(640, 480, .cover)
    #expect(fitting.scaled == PixelSize(width: 1280, height: 960))
    #expect(fitting.shown == PixelRect(x: 0, y: 120, size: Self.hd))
    #expect(fitting.covers(Self.hd))
    #expect(Self.fit(720, 1280, .cover).covers(Self.hd))
  }

  @Test func `fill stretches`() {
    #expect(Self.fit(100, 900, .fill).scaled == Self.hd)
    #expect(Self.fit(100, 900, .fill).covers(Self.hd))
  }

  @Test func `none keeps the size and cuts an odd edge`() {
    let small = Self.fit(427, 241, .none)
    #expect(small.scaled == PixelSize(width: 427, height: 241))
    #expect(small.target == PixelRect(x: 426, y: 240, size: PixelSize(width: 426, height: 240)))
    #expect(small.shown == PixelRect(x: 0, y: 0, size: PixelSize(width: 426, height: 240)))
    let large = Self.fit(1920, 1080, .none)
    #expect(large.shown == PixelRect(x: 320, y: 180, size: Self.hd))
    #expect(large.covers(Self.hd))
  }

  /// One expectation for each of two million would take longer than what they are about.
  private static func rules(
    _ fitting: Fitting, _ fit: Fit, _ frame: PixelSize, _ cell: ChromaCell
  ) -> [(rule: StaticString, holds: Bool)] {
    let (target, shown, scaled) = (fitting.target, fitting.shown, fitting.scaled)
    return [
      ("the target is in the frame", PixelRect(frame).contains(target) && !target.isEmpty),
      ("what is shown has the target's size", shown.size == target.size),
      ("what is shown is in the picture", shown.x >= 0 && shown.y >= 0),
      ("the target begins with a cell", target.x % cell.width == 0 && target.y % cell.height == 0),
      (
        "the target ends with a column of cells or the frame",
        target.columns.upperBound % cell.width == 0 || target.columns.upperBound == frame.width
      ),
      (
        "the target ends with a row of cells or the frame",
        target.rows.upperBound % cell.height == 0 || target.rows.upperBound == frame.height
      ),
      ("no column is beyond the picture", scaled.width < cell.width || shown.columns.upperBound <= scaled.width),
      ("no row is beyond the picture", scaled.height < cell.height || shown.rows.upperBound <= scaled.height),
      ("the target is centred", abs(2 * target.x + target.size.width - frame.width) <= 2 * cell.width),
      ("the frame is covered", !(fit == .cover || fit == .fill) || fitting.covers(frame)),
    ]
  }

  /// Whatever the sizes: within the frame, on chroma cells or the frame's edges, at most one pixel off the centre.
  @Test func `every fit keeps its rule`() {
    var generator = SeededRandom(seed: 6)
    for _ in 0..<20_000 {
      let size = PixelSize(
        width: .random(in: 1...5000, using: &generator), height: .random(in: 1...5000, using: &generator))
      let frame = PixelSize(
        width: .random(in: 2...2000, using: &generator), height: .random(in: 2...2000, using: &generator))
      for cell in [Self.cell420, Self.cell444, ChromaCell(.yuv422p)] {
        for fit in Fit.allCases {
          let broken = Self.rules(Fitting(size, fit: fit, frame: frame, cell: cell), fit, frame, cell).filter {
            !$0.holds
          }
          if !broken.isEmpty { Issue.record("\(fit) of \(size) in \(frame), \(cell): \(broken.map(\.rule))") }
        }
      }
    }
  }
}
