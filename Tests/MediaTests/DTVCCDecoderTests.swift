import CMedia
import CompositionModel
import TestMedia
import Testing

@testable import Media

/// The decoder of CEA-708, with bytes that are written by hand.
@Suite struct DTVCCDecoderTests {
  /// The captions of commands of service 1, each list at a time in milliseconds.
  private func events(_ commands: [(time: Int64, bytes: [UInt8])]) throws -> [String] {
    try decoded(commands.map { ($0.time, ClosedCaptionVideo.packet($0.bytes)) })
  }

  private func decoded(_ pictures: [(time: Int64, triples: [UInt8])]) throws -> [String] {
    var decoder = DTVCCDecoder(AVRational(num: 1, den: 1000), name: "a")
    for picture in pictures {
      for start in stride(from: 0, to: picture.triples.count, by: 3) {
        try decoder.add(
          picture.triples[start + 1], picture.triples[start + 2], isStart: picture.triples[start] & 3 == 3,
          at: picture.time)
      }
    }
    try decoder.end()
    return try decoder.found.captions(zero: .zero).events.map {
      "\($0.start)-\($0.end) \($0.fields.commaFields().last ?? "")"
    }
  }

  /// DefineWindow of a window that is seen.
  private func window(
    _ number: UInt8 = 0, isVisible: Bool = true, rows: UInt8 = 2, columns: UInt8 = 32, row: UInt8 = 70,
    anchor: UInt8 = 6, style: UInt8 = 1
  ) -> [UInt8] {
    [0x98 + number, isVisible ? 0x38 : 0x18, row, 0, anchor << 4 | (rows - 1), columns - 1, style << 3 | 1]
  }

  private func ascii(_ text: String) -> [UInt8] { Array(text.utf8) }

  @Test func `what is written letter by letter is one caption, and one after a pause another`() throws {
    let letters = (0..<5).map { (Int64(1000 + 400 * $0), Array(ascii("Hello")[$0..<($0 + 1)])) }
    #expect(
      try events([(0, window())] + letters + [(3200, ascii(" you")), (5000, [0x8A, 0xFF])])
        == ["1000-3200 Hello", "3200-5000 Hello you"])
  }

  @Test func `a line that scrolls away is shown until then, and one state of the screen is one caption`() throws {
    #expect(
      try events([
        (0, window(rows: 1)), (1000, ascii("one")), (2000, window(rows: 1) + [0x97, 0, 0, 0, 0]), (3000, [0x89, 1]),
        (4000, [0x0D] + ascii("two")), (6000, [0x0C]), (7000, ascii("end")),
      ]) == ["1000-4000 one", "4000-6000 two", "7000-10000 end"])
  }

  @Test func `windows are read from the top on, and placed by their first line`() throws {
    let low = window(0, rows: 1) + ascii("low")
    let high = window(1, isVisible: false, rows: 3, row: 0, anchor: 1) + [0x92, 2, 5] + ascii(" high ")
    #expect(
      try events([(0, low + high), (1000, [0x89, 2]), (2000, [0x88, 2]), (3000, [0x8C, 0xFF])])
        == ["0-1000 low", "1000-2000 {\\an8}high\\Nlow", "2000-3000 low"])
  }

  @Test(
    arguments: [
      // The row of the anchor, whether it is of a hundred, the anchor, the rows, and whether the first is at the top.
      (74, false, 7, 15, true), (74, false, 7, 7, false), (37, false, 4, 2, true), (40, false, 4, 1, false),
      (49, true, 0, 1, false), (46, true, 0, 1, true), (38, false, 0, 1, false), (34, false, 2, 1, true),
    ] as [(UInt8, Bool, UInt8, UInt8, Bool)])
  func `the first line is in the upper half or in the lower one`(
    row: UInt8, isRelative: Bool, anchor: UInt8, rows: UInt8, isAtTop: Bool
  ) throws {
    let bytes = window(rows: rows, row: row | (isRelative ? 0x80 : 0), anchor: anchor) + ascii("x")
    #expect(try events([(0, bytes), (500, [0x8F])]) == ["0-500 \(isAtTop ? "{\\an8}" : "")x"])
  }

  @Test func `a window that wraps words moves the last one, and another one drops what does not fit`() throws {
    let text = ascii("The quick brown fox")
    let wrapped = window(rows: 3, columns: 8, style: 4) + text
    #expect(try events([(0, wrapped), (1000, [0x8F])]) == ["0-1000 quick\\Nbrown\\Nfox"])
    #expect(try events([(0, window(columns: 8) + text), (1000, [0x8F])]) == ["0-1000 The quic"])
  }

  @Test func `a backspace, a return to the row's beginning, and a pen that moves`() throws {
    let bytes = window() + ascii("ab") + [0x08] + ascii("c") + [0x0D] + ascii("gone") + [0x0E] + ascii("kept")
    #expect(try events([(0, bytes), (1000, [0x8F])]) == ["0-1000 ac\\Nkept"])
    #expect(
      try events([(0, window() + ascii("abcdef") + [0x92, 0, 2] + ascii("XY")), (1000, [0x8F])]) == ["0-1000 abXYef"])
  }

  @Test func `commands after a delay are executed at its end`() throws {
    let text = window() + [0x8D, 15] + ascii("late") + [0x8D, 10, 0x8A, 1]
    #expect(try events([(0, text), (10_000, [0x03])]) == ["1500-2500 late"])
    #expect(try events([(0, text), (700, [0x8E]), (10_000, [0x03])]) == ["700-1700 late"])
    #expect(try events([(0, text), (700, [0x8F]), (10_000, [0x03])]).isEmpty)
    // No more waits than 128 bytes.
    let long = (0..<10).map { (Int64(100 + 10 * $0), ascii("0123456789abc")) }
    #expect(
      try events([(0, window(rows: 1, columns: 4) + [0x8D, 255])] + long + [(1000, [0x8F])]) == ["190-1000 0123"])
  }

  @Test func `characters of all sets, and those of a script's own`() throws {
    let bytes: [UInt8] = [
      0x41, 0x7F, 0xC4, 0x10, 0x25, 0x10, 0x32, 0x10, 0xA0, 0x10, 0x26, 0x18, 0x30, 0x42, 0x18, 0xD8, 0x00, 0x18, 0, 0,
    ]
    #expect(try events([(0, window() + bytes), (1000, [0x8F])]) == ["0-1000 A♪Ä…’[CC]_あ__"])
    #expect(try events([(0, window() + ascii("a{b}\\Nc")), (1000, [0x8F])]) == ["0-1000 a\\{b\\}\\\u{2060}Nc"])
    // Text that is not to be shown, such as a note.
    #expect(try events([(0, window() + [0x90, 0xF0, 0] + ascii("no")), (1000, [0x8F])]).isEmpty)
  }

  @Test func `commands that are not used are passed over with their parameters`() throws {
    let unused: [UInt8] = [
      0x91, 0x41, 0x41, 0x41, 0x93, 0x11, 0x41, 0x19, 0x41, 0x41, 0x10, 0x08, 0x41, 0x10, 0x10, 0x41, 0x41, 0x10, 0x1F,
      0x41, 0x41, 0x41, 0x10, 0x80, 0x41, 0x41, 0x41, 0x41, 0x10, 0x90, 0x02, 0x41, 0x41,
    ]
    #expect(try events([(0, window() + unused + ascii("x")), (1000, [0x8F])]) == ["0-1000 x"])
  }

  @Test func `other services and packets without an end are left out`() throws {
    let text = window() + ascii("own")
    let cut = Array(ClosedCaptionVideo.packet(window(1) + ascii("cut")).dropLast(3))
    // A block of service 9 in front of one of service 1, then a null block.
    let mixed: [UInt8] = [0xFF, 0x07, 0xE2, 0xFE, 0x09, 0x41, 0xFE, 0x41, 0x22, 0xFE, 0x21, 0x21, 0xFE, 0, 0x21]
    #expect(
      try decoded([
        (0, ClosedCaptionVideo.packet(text)), (10, cut),
        (20, ClosedCaptionVideo.packet(window() + ascii("other"), service: 2)),
        (30, mixed + [0xFE, 0x41, 0x41, 0xFE, 0, 0]), (1000, ClosedCaptionVideo.packet([0x8F])),
      ]) == ["0-1000 own!!"])
  }

  @Test func `any bytes are decoded without a fault`() throws {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<200 {
      var pictures: [(time: Int64, triples: [UInt8])] = []
      for time in 0..<100 {
        var bytes = (0..<30).map { _ in UInt8.random(in: 0...255, using: &random) }
        // Most are commands of windows and texts.
        for index in bytes.indices where index % 3 > 0 { bytes[index] = bytes[index] & 0x1F | 0x80 }
        pictures.append((Int64(time) * 33, ClosedCaptionVideo.packet(bytes)))
      }
      pictures.append((-5, ClosedCaptionVideo.packet(window() + ascii("back"))))
      _ = try decoded(pictures)
    }
  }
}
