import CompositionModel
import Foundation
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

/// Captions with the style of the document: their boxes, their margins, and their words in the colours of the time.
@Suite struct CaptionStyleTests {
  private typealias Film = CaptionTests.Film

  private static let (width, height) = (320, 180)

  /// The numbers of the frames that differ from the one before.
  private func changes(_ frames: [Data]) -> [Int] { frames.indices.dropFirst().filter { frames[$0] != frames[$0 - 1] } }

  /// The pixels of a plane of 4:4:4 for which a condition holds, and the smallest rectangle around them.
  private func pixels(
    _ frame: Data, plane: Int = 0, _ isOne: (UInt8) -> Bool
  ) -> (count: Int, columns: ClosedRange<Int>, rows: ClosedRange<Int>) {
    let size = Self.width * Self.height
    let found = [UInt8](frame.dropFirst(plane * size).prefix(size)).enumerated().filter { isOne($1) }.map(\.offset)
    let (columns, rows) = (found.map { $0 % Self.width }, found.map { $0 / Self.width })
    return (
      found.count, (columns.min() ?? 0)...(columns.max() ?? 0), (rows.min() ?? 0)...(rows.max() ?? 0)
    )
  }

  private static func caption(_ text: String, from start: String = "00:00:00,000", to end: String = "00:00:01,000")
    -> String
  { "1\n\(start) --> \(end)\n\(text)\n\n" }

  // MARK: Words

  /// ffmpeg's filter is libass too, which has the times from the file itself.
  @Test func `karaoke of ASS has the times that ffmpeg draws it at`() throws {
    let script = CaptionFile.ass(
      styles: [
        "Default,DejaVu Sans,24,&H0000FFFF,&H00FFFFFF,&H00000000,&H00000000,0,0,0,0,100,100,0,0,1,2,0,2,10,10,10,1"
      ],
      events: [
        "0,0:00:00.20,0:00:01.50,Default,,0,0,0,,{\\k30}One {\\k45}two {\\kf40}three",
        "0,0:00:01.70,0:00:02.70,Default,,0,0,0,,{\\ko25}four {\\K50}five",
      ])
    let film = try Film(script, as: "song.ass")
    let frames = try film.frames()
    let raw = try Tool.ffmpeg([
      "-i", film.folder.path("sea.mkv"), "-vf", "ass=\(film.folder.path("song.ass"))", "-pix_fmt", "yuv444p",
      "-f", "rawvideo", "-",
    ])
    let size = Self.width * Self.height * 3
    let expected = (0..<frames.count).map { Data(raw.dropFirst($0 * size).prefix(size)) }
    #expect(changes(frames) == changes(expected))
    #expect(changes(frames).contains(15) && changes(frames).contains(6))
    for index in [8, 16, 35, 44, 55, 65, 78] {
      let other = zip(frames[index], expected[index]).count { abs(Int($0) - Int($1)) > 40 }
      #expect(other < 60, "frame \(index): \(other) samples")
    }
    for segment in TestExtent.of(["13f"], whole: ["7f", "13f"]) {
      #expect(try film.frames(segment: segment) == frames, "segments of \(segment)")
    }
  }

  @Test func `each word of WebVTT is highlighted from its time to the next one's`() throws {
    let cue = """
      WEBVTT

      00:00.200 --> 00:02.000
      HHH <00:00:00.500>HHH <00:00:01.000>HHH
      """
    let film = try Film(cue, as: "words.vtt")
    let frames = try film.frames(##"{ "asset": "c", "outline": 0, "size": 40, "highlightColor": "#ff0000" }"##)
    #expect(changes(frames) == [6, 15, 30, 60])
    // Red has a high Cr; white and the sea have none.
    let red = [10, 20, 40].map { pixels(frames[$0], plane: 2) { $0 > 200 } }
    let white = pixels(frames[10]) { $0 > 200 }
    #expect(red.allSatisfy { $0.count > 300 } && white.count > 500)
    #expect(red[0].columns.upperBound < red[1].columns.lowerBound)
    #expect(red[1].columns.upperBound < red[2].columns.lowerBound)
    // A third of the letters has the colour at a time.
    #expect(abs(red[0].count - red[1].count) < 60 && abs(red[1].count - red[2].count) < 60)
    #expect(pixels(frames[50], plane: 2) { $0 > 200 }.columns == red[2].columns)

    let spoken = try film.frames(
      ##"{ "asset": "c", "outline": 0, "size": 40, "highlightColor": "#ff0000", "spokenColor": "#0000ff" }"##)
    #expect(changes(spoken) == [6, 15, 30, 60])
    #expect(pixels(spoken[40], plane: 2) { $0 > 200 }.columns == red[2].columns)
    let blue = pixels(spoken[40], plane: 1) { $0 > 200 }
    #expect(blue.columns.lowerBound <= red[0].columns.lowerBound + 1)
    #expect(blue.columns.upperBound < red[2].columns.lowerBound && blue.count > 600)

    // Without a colour of their own, words are never told apart.
    let plain = try film.frames(##"{ "asset": "c", "outline": 0, "size": 40 }"##)
    #expect(changes(plain) == [6, 60])
    // A caption that is cut keeps the times of its words.
    let cut = try film.frames(
      ##"{ "asset": "c", "use": "0.6..2", "at": 0.6, "outline": 0, "size": 40, "highlightColor": "#ff0000" }"##)
    #expect(changes(cut) == [18, 30, 60] && Array(cut[18..<60]) == Array(frames[18..<60]))
  }

  @Test func `words of several lines, in colours of their own and beside other captions, are the same at any cut`()
    throws
  {
    let cues = """
      WEBVTT

      00:00.100 --> 00:02.500
      First <00:00:00.700>line
      <00:00:01.200>second <00:00:01.900>line

      00:00.400 --> 00:01.500
      <00:00:00.800>Other <00:00:01.100>words
      """
    let film = try Film(cues, as: "words.vtt")
    let style = ##"{ "asset": "c", "highlightColor": "#ffff0080", "spokenColor": "#00ff00", "box": { "radius": 6 } }"##
    let whole = try film.frames(style)
    #expect(changes(whole) == [3, 12, 21, 24, 33, 36, 45, 57, 75])
    for segment in TestExtent.of(["11f"], whole: ["5f", "11f"]) {
      let cut = try film.frames(style, segment: segment)
      let other = whole.indices.filter { whole[$0] != cut[$0] }
      #expect(other.isEmpty, "frames \(other) in segments of \(segment)")
    }
  }

  @Test func `tags of karaoke in SRT have the document's colours, and the file's own in between`() throws {
    let text = "{\\k50}HH {\\k50}<font color=\"#0000ff\">HH</font> {\\k20}HH"
    let film = try Film(Self.caption(text, to: "00:00:02,000"), as: "song.srt")
    let frames = try film.frames(##"{ "asset": "c", "outline": 0, "size": 40, "highlightColor": "#ff0000" }"##)
    #expect(changes(frames) == [15, 30, 36, 60])
    let (first, second) = (pixels(frames[5], plane: 2) { $0 > 200 }, pixels(frames[20], plane: 2) { $0 > 200 })
    #expect(first.columns.upperBound < second.columns.lowerBound)
    // Before it is said and after it, the word is blue.
    for index in [5, 33, 50] {
      let blue = pixels(frames[index], plane: 1) { $0 > 200 }
      #expect(abs(blue.columns.lowerBound - second.columns.lowerBound) <= 1, "frame \(index)")
    }
    #expect(pixels(frames[20], plane: 1) { $0 > 200 }.count == 0)
  }

  // MARK: Boxes and margins

  @Test func `a box has its padding around the lines, and the margins count from it`() throws {
    let film = try Film(Self.caption("HHHH"), as: "talk.srt")
    let style = ##""asset": "c", "outline": 0, "size": 40, "margin": 20"##
    let box = ##""color": "#ff0000", "padding": 12"##
    let letters = pixels(try film.frame(10, "{ \(style) }")) { $0 > 200 }
    let frame = try film.frame(10, "{ \(style), \"box\": { \(box) } }")
    let red = pixels(frame, plane: 2) { $0 > 200 }
    #expect(red.rows.upperBound == Self.height - 20 - 1)
    // From the top to the bottom of a line there are 40 pixels.
    #expect(abs(red.rows.count - (40 + 24)) <= 1)
    let inside = pixels(frame) { $0 > 200 }
    #expect(inside.count > letters.count - 40 && inside.columns == letters.columns)
    #expect(inside.rows.lowerBound == letters.rows.lowerBound - 12)
    #expect(
      abs((inside.columns.lowerBound - red.columns.lowerBound) - (red.columns.upperBound - inside.columns.upperBound))
        <= 4)
    // Around the letters there is the font's own space too.
    #expect((12...18).contains(inside.columns.lowerBound - red.columns.lowerBound))
  }

  @Test func `the corners of a box are round, and what is below shows through it`() throws {
    let film = try Film(Self.caption("HHHH"), as: "talk.srt")
    func frame(_ box: String) throws -> [UInt8] {
      [UInt8](try film.frame(10, "{ \"asset\": \"c\", \"size\": 30, \"box\": { \(box) } }"))
    }
    let sharp = try frame(##""color": "#ff0000""##)
    let round = try frame(##""color": "#ff0000", "radius": 12"##)
    let red = pixels(Data(sharp), plane: 2) { $0 > 200 }
    let size = Self.width * Self.height
    func sample(_ frame: [UInt8], _ x: Int, _ y: Int) -> UInt8 { frame[2 * size + y * Self.width + x] }
    let (left, top) = (red.columns.lowerBound, red.rows.lowerBound)
    let sea = sample(sharp, 2, 2)
    for (x, y) in [(left, top), (red.columns.upperBound, red.rows.upperBound), (left, red.rows.upperBound)] {
      #expect(sample(sharp, x, y) > 200 && abs(Int(sample(round, x, y)) - Int(sea)) < 3)
    }
    // By the circle's equation, but for the pixels on it.
    for y in 0..<12 {
      for x in 0..<12 {
        let distance = ((11.5 - Double(x)) * (11.5 - Double(x)) + (11.5 - Double(y)) * (11.5 - Double(y))).squareRoot()
        if distance < 11 { #expect(sample(round, left + x, top + y) > 200, "\(x) \(y)") }
        if distance > 13 { #expect(abs(Int(sample(round, left + x, top + y)) - Int(sea)) < 3, "\(x) \(y)") }
      }
    }
    // Half of the red is half of the way from the sea's colour.
    let half = try frame(##""color": "#ff000080""##)
    let (full, seen) = (Int(sample(sharp, left + 1, top + 1)), Int(sample(half, left + 1, top + 1)))
    #expect(abs(seen - (Int(sea) + (full - Int(sea)) * 128 / 255)) <= 1)
  }

  @Test func `the box of a caption hides no letters of another`() throws {
    let text = Self.caption("HHHH") + Self.caption("HHHHHH", from: "00:00:00,500")
    let film = try Film(text, as: "talk.srt")
    let frames = try film.frames(
      ##"{ "asset": "c", "outline": 0, "size": 30, "box": { "color": "#0000ff", "padding": 20 } }"##)
    let (one, two) = (pixels(frames[10]) { $0 > 220 }.count, pixels(frames[20]) { $0 > 220 }.count)
    #expect(abs(two * 4 - one * 10) < one, "\(one) and \(two) pixels")
    #expect(changes(frames) == [15, 30])
  }

  @Test func `each side of the frame has a margin of its own`() throws {
    let words = Array(repeating: "M", count: 40).joined(separator: " ")
    let film = try Film(Self.caption(words) + Self.caption("{\\an8}HHHH"), as: "talk.srt")
    let frame = try film.frame(
      10,
      ##"{ "asset": "c", "outline": 0, "size": 14, "margin": 5, "leftMargin": 20, "rightMargin": 90, "topMargin": 33 }"##
    )
    let all = pixels(frame) { $0 > 200 }
    #expect(all.columns.lowerBound >= 20 && all.columns.upperBound < Self.width - 90)
    // Lines are as long as one another, in the middle between the margins.
    #expect(abs(all.columns.lowerBound + all.columns.upperBound - (20 + Self.width - 90)) <= 6, "\(all.columns)")
    // A line is 14 pixels high, of which capitals are about 10.
    #expect((33..<39).contains(all.rows.lowerBound), "\(all.rows)")
    #expect((Self.height - 5 - 5..<Self.height - 5).contains(all.rows.upperBound), "\(all.rows)")
    let top = try film.frame(
      10, ##"{ "asset": "c", "outline": 0, "size": 14, "anchor": "top", "margin": 5, "bottomMargin": 50 }"##)
    #expect((5..<11).contains(pixels(top) { $0 > 200 }.rows.lowerBound))
  }

  // MARK: Lines

  @Test func `lines are broken at their length, and only the words of a speaker have the colour`() throws {
    let cue =
      "WEBVTT\n\n00:00.000 --> 00:01.000\n<v Ann>HHHH HHHH HHHH</v>\n\n00:01.000 --> 00:02.000\nHHHH HHHH HHHH\n"
    let film = try Film(cue, as: "words.vtt")
    func frames(_ keys: String) throws -> [Data] {
      try film.frames(##"{ "asset": "c", "outline": 0, "size": 24, "anchor": "top" \##(keys) }"##)
    }
    let whole = pixels(try frames("")[45]) { $0 > 200 }
    let broken = pixels(try frames(#", "lineLength": 9"#)[45]) { $0 > 200 }
    #expect(broken.rows.count > whole.rows.count * 2 && broken.columns.count < whole.columns.count * 3 / 4)
    #expect(abs(broken.count - whole.count) < whole.count / 10)
    let named = try frames(##", "speakers": { "Ann": { "color": "#ff0000" } }"##)
    #expect(pixels(named[15], plane: 2) { $0 > 200 }.count > 300 && pixels(named[45], plane: 2) { $0 > 200 }.count == 0)
    #expect(pixels(named[45]) { $0 > 200 }.count == whole.count)
  }

  @Test func `vertical lines are at the right of the frame, from the top, and beside each other`() throws {
    let film = try Film(
      Self.caption("海辺、山川") + Self.caption("空", from: "00:00:00,500", to: "00:00:01,500")
        + Self.caption(String(repeating: "海", count: 24), from: "00:00:02,000", to: "00:00:03,000"), as: "sea.srt")
    func frames(_ keys: String) throws -> [Data] {
      try film.frames(#"{ "asset": "c", "outline": 0, "size": 24, "margin": 10, "vertical": true \#(keys) }"#)
    }
    let shown = try frames("")
    let one = pixels(shown[5]) { $0 > 150 }
    #expect(one.count > 300 && one.rows.count > 2 * one.columns.count)
    #expect(one.columns.upperBound < 310 && one.columns.lowerBound > 280 && (10...16).contains(one.rows.lowerBound))
    // The second is left of the first, which stays; alone it is where the first was.
    let both = pixels(shown[20]) { $0 > 150 }
    #expect(both.count > one.count + 50 && both.columns.upperBound == one.columns.upperBound)
    #expect((15...35).contains(one.columns.lowerBound - both.columns.lowerBound) && both.rows == one.rows)
    #expect(pixels(shown[40]) { $0 > 150 }.columns.lowerBound > 280)
    // 24 characters are four lines of 6, within the margins.
    let long = pixels(shown[75]) { $0 > 150 }
    #expect(long.rows.upperBound < 170 && (70...120).contains(long.columns.count))
    let left = pixels(try frames(#", "anchor": "bottom-left""#)[5]) { $0 > 150 }
    #expect(left.columns.lowerBound >= 10 && left.columns.upperBound < 45)
    #expect((160...170).contains(left.rows.upperBound) && abs(left.count - one.count) < 40)
  }
}
