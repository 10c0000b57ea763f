import CompositionModel
import Foundation
import TestMedia
import TestPrograms
import Testing

@testable import Media

/// What a probe finds of captions, and of files that are none.
@Suite struct CaptionProbeTests {
  private func probe(_ text: String, as name: String) throws -> AssetDescription {
    let folder = try TemporaryFolder()
    let path = folder.path(name)
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    return try AssetProbe.probe(openSource(path), name: name)
  }

  private func events(_ asset: AssetDescription) -> [String] {
    asset.defaultTrack(.subtitle)?.captions?.events.map { event in
      let text = event.fields.split(separator: ",", maxSplits: 8, omittingEmptySubsequences: false).last ?? ""
      return "\(event.start)-\(event.end) \(text)"
    } ?? []
  }

  private static let srt = """
    1
    00:00:01,000 --> 00:00:02,500
    <b>Bold</b> and
    second line

    2
    00:00:02,000 --> 00:01:03,004
    -- not an arrow, überall

    """

  @Test func `each format has its events`() throws {
    let subRip = try probe(Self.srt, as: "a.srt")
    #expect(subRip.container == "srt" && "\(subRip.duration)" == "15751/250")
    #expect(
      events(subRip) == ["1000-2500 {\\b1}Bold{\\b0} and\\Nsecond line", "2000-63004 -- not an arrow, überall"])
    #expect(subRip.tracks[0].captions?.hasStyles == false)
    let web = try probe("WEBVTT\n\n00:01.000 --> 00:02.500 align:start\n<i>Hi</i> &amp; bye\n", as: "a.vtt")
    #expect(events(web) == ["1000-2500 {\\i1}Hi{\\i0} & bye"])
    let script = try probe(
      "[Script Info]\nScriptType: v4.00+\n\n[V4+ Styles]\nFormat: Name, Fontname, Fontsize\nStyle: Default,Serif,20\n\n"
        + "[Events]\nFormat: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
        + "Dialogue: 0,0:00:03.00,0:00:04.00,Default,,0,0,0,,Later\nDialogue: 0,0:00:01.00,0:00:05.50,Default,,0,0,0,,Hi\n",
      as: "a.ass")
    #expect(events(script) == ["1000-5500 Hi", "3000-4000 Later"])
    #expect(script.tracks[0].captions?.hasStyles == true)
    #expect(script.tracks[0].captions?.header.contains("Style: Default,Serif,20") == true)
  }

  @Test func `times of words in WebVTT are those of karaoke, from the start of their cue`() throws {
    let web = try probe(
      """
      WEBVTT

      00:01.000 --> 00:03.000
      <v Ann>One <00:00:01.505><c>two</c> <00:02.000>{3}

      01:00:04.000 --> 01:00:06.000
      <01:00:04.500>late <01:00:04.200>back <01:00:07.000>beyond <01:00:05.000>end

      00:05.000 --> 00:06.000
      none <b>here</b> <00:99> <0:00:05.500>
      """, as: "a.vtt")
    #expect(
      events(web) == [
        "1000-3000 {\\k50.5}{\\=Ann}One {\\k49.5}two {\\k100}\\{3\\}", "5000-6000 none {\\b1}here{\\b0}  ",
        "3604000-3606000 {\\k50}{\\k50}late back beyond {\\k100}end",
      ])
  }

  @Test func `the voices of WebVTT have marks in the text`() throws {
    let web = try probe(
      """
      WEBVTT

      00:01.000 --> 00:03.000
      <v.loud.first Fred  &amp; Mary>Hi, <i>you</i></v>

      00:02.000 --> 00:04.000
      <v Fred>One
      <v {M}\\ary>two</v> three</v> <v.x>none <video>

      00:03.000 --> 00:05.000
      nobody </v><c.v>here
      """, as: "a.vtt")
    #expect(
      events(web) == [
        "1000-3000 {\\=Fred & Mary}Hi, {\\i1}you{\\i0}{\\=}",
        "2000-4000 {\\=Fred}One\\N{\\=Mary}two{\\=Fred} three{\\=} {\\=}none ", "3000-5000 nobody here",
      ])
    let movie = try TemporaryFolder()
    let (source, file) = (movie.path("a.vtt"), movie.path("a.mkv"))
    try Data("WEBVTT\n\n00:01.000 --> 00:03.000\n<v Ann>One <00:00:01.500>two\n".utf8)
      .write(to: URL(fileURLWithPath: source))
    _ = try Tool.ffmpeg(["-i", source, "-c", "copy", file])
    #expect(events(try AssetProbe.probe(openSource(file), name: file)) == ["1000-3000 {\\=Ann}One two"])
  }

  @Test func `tags of karaoke in SRT are kept, and no other ones of that form`() throws {
    let text = try probe(
      """
      1
      00:00:01,000 --> 00:00:02,000
      {\\k50}One {\\kf20}{\\K7}two{\\ko5} {\\kx5}{\\k}{k5} {\\fs40}end
      """, as: "a.srt")
    #expect(events(text) == ["1000-2000 {\\k50}One {\\kf20}{\\K7}two{\\ko5} {k5} end"])
  }

  /// A line of a file of Scenarist: commands of CEA-608, each sent twice, and texts, all with odd parity.
  private func line(_ time: String, _ parts: [ClosedCaptionCommand]) -> String {
    func parity(_ byte: UInt8) -> UInt8 { byte.nonzeroBitCount % 2 == 0 ? byte | 0x80 : byte }
    let words = parts.flatMap { part -> [[UInt8]] in
      switch part {
      case .control(let first, let second): return [[first, second], [first, second]]
      case .text(let text):
        let bytes = Array(text.utf8) + (text.utf8.count % 2 == 0 ? [] : [0])
        return stride(from: 0, to: bytes.count, by: 2).map { Array(bytes[$0..<($0 + 2)]) }
      }
    }
    return time + "\t" + words.map { $0.map { String(format: "%02x", parity($0)) }.joined() }.joined(separator: " ")
      + "\n\n"
  }

  private enum ClosedCaptionCommand {
    case control(UInt8, UInt8)
    case text(String)
    static let clear = control(0x14, 0x2E)
    static let popOn = control(0x14, 0x20)
    static let show = control(0x14, 0x2F)
    static let remove = control(0x14, 0x2C)
    static let rollUp = control(0x14, 0x25)
    static let carriageReturn = control(0x14, 0x2D)
    static let row1 = control(0x11, 0x40)
    static let row14 = control(0x14, 0x50)
    static let row15 = control(0x14, 0x70)
    static let row15Slanted = control(0x14, 0x6E)
  }

  @Test func `closed captions have their lines, at the top or the bottom, at the times of their pictures`() throws {
    func text(_ separator: String) -> String {
      "Scenarist_SCC V1.0\n\n"
        + line("00:00:01\(separator)15", [.clear, .popOn, .row15, .text("HELLO"), .show])
        + line(
          "00:00:03\(separator)00",
          [.clear, .popOn, .row14, .text("Second, of"), .row15Slanted, .text("two lines"), .show])
        + line("00:01:05\(separator)02", [.remove])
        + line("01:00:00\(separator)00", [.clear, .popOn, .row1, .text("At the top"), .show])
    }
    let asset = try probe(text(":"), as: "a.scc")
    #expect(asset.container == "scc" && asset.tracks.map(\.codec) == ["eia_608"])
    #expect(asset.tracks[0].captions?.hasStyles == false)
    #expect(asset.tracks[0].captions?.header.contains("Style:") == false)
    // Picture 45 of 30000/1001 a second is shown at 1.5015 s. What is never removed is shown for three seconds.
    #expect(
      events(asset) == [
        "1502-3003 HELLO", "3003-65132 Second, of\\N{\\i1}two lines", "3603600-3606600 {\\an8}At the top",
      ])
    // 1953 pictures but for two, and 108,000 but for 108.
    #expect(
      events(try probe(text(";"), as: "drop.scc")) == [
        "1502-3003 HELLO", "3003-65065 Second, of\\N{\\i1}two lines", "3599996-3602996 {\\an8}At the top",
      ])
    let rolled =
      "Scenarist_SCC V1.0\n\n"
      + ["one", "two", "three"].enumerated().map { number, word in
        line("00:00:0\(number + 1):00", [.rollUp, .carriageReturn, .row15, .text(word)])
      }.joined() + line("00:00:04:00", [.remove])
    #expect(
      events(try probe(rolled, as: "rolled.scc")) == ["1001-2002 one", "2002-3003 one\\Ntwo", "3003-4004 two\\Nthree"])
  }

  @Test func `the text track of a movie is found and does not make it longer`() throws {
    let folder = try TemporaryFolder()
    try Data(Self.srt.utf8).write(to: URL(fileURLWithPath: folder.path("a.srt")))
    for (name, codec) in [("a.mp4", "mov_text"), ("a.mkv", "srt"), ("b.mkv", "ass")] {
      _ = try Tool.ffmpeg([
        "-f", "lavfi", "-i", "color=s=64x64:r=25:d=3", "-i", folder.path("a.srt"), "-c:v", "libx264", "-c:s", codec,
        "-metadata:s:s:0", "language=ger", folder.path(name),
      ])
      let asset = try AssetProbe.probe(openSource(folder.path(name)), name: name)
      #expect(asset.duration == MediaTime(seconds: 3), "\(name)")
      #expect(asset.defaultTrack(.subtitle)?.language == "ger")
      let text = name == "a.mp4" ? "1000-2000 {\\b1}Bold{\\r}" : "1000-2500 {\\b1}Bold{\\b0}"
      #expect(events(asset).first == "\(text) and\\Nsecond line", "\(name)")
    }
  }

  @Test func `a movie with a caption that is damaged keeps its other tracks`() throws {
    let folder = try TemporaryFolder()
    try Data(Self.srt.utf8).write(to: URL(fileURLWithPath: folder.path("a.srt")))
    for (name, codec) in [("a.mkv", "srt"), ("a.mov", "mov_text")] {
      let path = folder.path(name)
      _ = try Tool.ffmpeg([
        "-f", "lavfi", "-i", "color=s=64x64:r=25:d=3", "-i", folder.path("a.srt"), "-c:v", "libx264", "-c:s", codec,
        path,
      ])
      var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
      let place = try #require(bytes.range(of: Data("not an arrow".utf8)))
      bytes[place.lowerBound] = 0xFC
      try bytes.write(to: URL(fileURLWithPath: path))
      let asset = try AssetProbe.probe(openSource(path), name: name)
      #expect(asset.tracks.map(\.type) == [.video] && asset.duration == MediaTime(seconds: 3))
      #expect(asset.failures?.map(\.type) == [.subtitle])
      #expect(asset.failures?.first?.message == "the caption at 2.0 s is not text in UTF-8")
    }
  }

  @Test(arguments: [String.Encoding.utf16, .utf16LittleEndian, .utf16BigEndian])
  func `WebVTT in UTF-16 is refused by name`(encoding: String.Encoding) throws {
    let folder = try TemporaryFolder()
    let mark = encoding == .utf16 ? "" : "\u{FEFF}"
    let text = mark + "WEBVTT\n\n00:01.000 --> 00:02.000\nwörds\n"
    try #require(text.data(using: encoding)).write(to: URL(fileURLWithPath: folder.path("a.vtt")))
    #expect {
      try AssetProbe.probe(openSource(folder.path("a.vtt")), name: "a.vtt")
    } throws: {
      ($0 as? MediaError)?.message == "it is text in UTF-16; store the file as UTF-8"
    }
  }

  @Test func `a caption without an end is shown until the next that starts later`() throws {
    let lines = [1, 1, 3, 2, 4].enumerated().map { "Dialogue: 0,0:00:0\($1).00,0:00:0\($1).00,Default,,0,0,0,,\($0)" }
    let script =
      "[Script Info]\nScriptType: v4.00+\n\n[Events]\n"
      + "Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
      + lines.joined(separator: "\n") + "\n"
    let folder = try TemporaryFolder()
    try Data(script.utf8).write(to: URL(fileURLWithPath: folder.path("a.ass")))
    // In Matroska no duration is one that is not known.
    _ = try Tool.ffmpeg(["-i", folder.path("a.ass"), "-c", "copy", folder.path("a.mkv")])
    let asset = try AssetProbe.probe(openSource(folder.path("a.mkv")), name: "a.mkv")
    #expect(events(asset) == ["1000-2000 0", "1000-2000 1", "2000-3000 3", "3000-4000 2", "4000-7000 4"])
  }

  private static let head = "[Script Info]\nScriptType: v4.00+\n\n[Events]\n"

  /// A script's head decides which fields its events have.
  @Test(
    arguments: [
      ("Layer, Start, End, Style, Text", "Big,One, {\\b1}two"),
      ("Layer, Start, End, Text", "One, {\\b1}two"), (" Layer, Start, End, Style, Text", "Big,One, {\\b1}two"),
      ("Marked, Start, End, MarginV, STYLE, effect, Actor, Text", "7,Big,Banner,Ann,One, {\\b1}two"),
      (
        "Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Comment, Text",
        "Big,,1,2,3,,no,One, {\\b1}two"
      ),
    ], ["\n", "\r\n"])
  func `an event has the fields that its script names`(_ format: (names: String, fields: String), lineEnd: String)
    throws
  {
    let text = Self.head + "Format: \(format.names)\nDialogue: 3,0:00:01.00,0:00:02.00,\(format.fields)\n"
    let asset = try probe(text.replacing("\n", with: lineEnd), as: "a.ass")
    let captions = try #require(asset.defaultTrack(.subtitle)?.captions)
    let fields = try #require(captions.events.first).fields.split(
      separator: ",", maxSplits: 8, omittingEmptySubsequences: false)
    try #require(fields.count == 9)
    #expect(fields[8] == "One, {\\b1}two" && fields[1] == "3")
    #expect(fields[2] == (format.names.lowercased().contains("style") ? "Big" : "Default"))
    #expect(fields[6] == (format.names.contains("MarginL") ? "3" : format.names.contains("MarginV") ? "7" : "0"))
    #expect(fields[7] == (format.names.contains("effect") ? "Banner" : ""))
    let usual = "Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text"
    #expect(captions.header.split(whereSeparator: \.isNewline).last.map(String.init) == usual)
  }

  /// The blocks of Matroska have the usual fields whatever the head names; libavformat's have those of the head.
  @Test(arguments: ["Big,One, two", "Big,,0,0000,0,,One, two"])
  func `an event of Matroska has the usual fields or those of its head`(fields: String) throws {
    let folder = try TemporaryFolder()
    let text =
      Self.head + "Format: Layer, Start, End, Style, Text\nDialogue: 3,0:00:01.00,0:00:02.00,\(fields)\n"
    try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path("a.ass")))
    _ = try Tool.ffmpeg(["-i", folder.path("a.ass"), "-c", "copy", folder.path("a.mkv")])
    let asset = try AssetProbe.probe(openSource(folder.path("a.mkv")), name: "a.mkv")
    #expect(events(asset) == ["1000-2000 One, two"])
    #expect(asset.defaultTrack(.subtitle)?.captions?.events.first?.fields.hasPrefix("0,3,Big,,0,") == true)
  }

  /// A comma and a mark after it are one character to Swift.
  @Test(arguments: ["Format: Layer, Start, End, Style, Text\n", ""])
  func `a text that begins with a mark is kept`(format: String) throws {
    let usual = format.isEmpty ? ",0,0,0,," : ""
    let asset = try probe(
      Self.head + format + "Dialogue: 0,0:00:01.00,0:00:02.00,Default,\(usual)\u{301}, two\n", as: "a.ass")
    let fields = try #require(asset.defaultTrack(.subtitle)?.captions?.events.first).fields.commaFields()
    #expect(fields.count == 9 && fields.last == "\u{301}, two")
  }

  @Test func `a note in another section is no event`() throws {
    let events = "Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,Hi\n\n[Notes]\nDialogue: a free note\n"
    let asset = try probe(Self.head + events, as: "a.ass")
    #expect(self.events(asset) == ["1000-2000 Hi"])
  }

  @Test(arguments: [
    ("  Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,Hi\n", "cannot be read at the beginning"),
    ("Format: Layer, Start, End, Text\nFormat: Layer, Start, End, Style, Text\n", "several formats"),
    ("Dialogue: 0,0:00:01.00,0:00:02.00,Default,Hi\n", "fewer fields"),
    ("Format: Layer, Start, End, Style, Name, Text\nDialogue: 0,0:00:01.00,0:00:02.00,Default,Hi\n", "fewer fields"),
    ("Format: Start, End, Layer, Text\nDialogue: 0:00:01.00,0:00:02.00,0,Hi\n", "layer, start and end cannot be read"),
    ("Format: Layer, Start, End, Text\nDialogue: 0,one,two,Hi\n", "Dialogue: 0,one,two,Hi"),
    ("Format: Layer, Start, End, Style\nDialogue: 0,0:00:01.00,0:00:02.00,Hi\n", "no field \"Text\""),
  ])
  func `an event that cannot be read is named`(events: String, message: String) throws {
    #expect {
      try probe(Self.head + events, as: "a.ass")
    } throws: {
      ($0 as? MediaError)?.message.contains(message) == true
    }
  }

  @Test func `a caption of a text file that ends at its start is not shown`() throws {
    let head =
      "[Script Info]\nScriptType: v4.00+\n\n[Events]\n"
      + "Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
    let script =
      head
      + [("1", "1"), ("2", "2"), ("3", "4")].map { "Dialogue: 0,0:00:0\($0).00,0:00:0\($1).00,Default,,0,0,0,,\($0)\n" }
      .joined()
    #expect(try events(probe(script, as: "a.ass")) == ["3000-4000 3"])
    let subRip = "1\n00:00:01,000 --> 00:00:01,000\n1\n\n2\n00:00:03,000 --> 00:00:04,000\n3\n"
    #expect(try events(probe(subRip, as: "a.srt")) == ["3000-4000 3"])
    let web = "WEBVTT\n\n00:01.000 --> 00:01.000\n1\n\n00:03.000 --> 00:04.000\n3\n"
    #expect(try events(probe(web, as: "a.vtt")) == ["3000-4000 3"])
  }

  /// Files as people make them have the captions that ffmpeg reads of them.
  @Test(arguments: [
    (
      "lines that end with CR",
      "1\r00:00:01,000 --> 00:00:02,500\rone\rtwo\r\r2\r00:00:03,000 --> 00:00:04,000\rthree\r"
    ),
    ("spaces in times", "1\n00:00:01, 500 --> 00:00: 02,000\none\n\n2\n00: 00:03,000 --> 00:00:04,000\ntwo\n"),
    ("no spaces around arrows", "1\n00:00:01,500-->00:00:02,000\none\n\n2\n00:00:03,000-->00:00:04,000\ntwo\n"),
    ("tabs around arrows", "1\n00:00:01,500\t-->\t00:00:02,000\none\n\n2\n00:00:03,000 --> 00:00:04,000\ntwo\n"),
    ("indented", "\n  1\n  00:00:01,500 --> 00:00:02,000\n  one\n\n  2\n  00:00:03,000 --> 00:00:04,000\n  two\n"),
    ("no numbers", "00:00:01,500 --> 00:00:02,000\none\n\n00:00:03,000 --> 00:00:04,000\ntwo\n"),
    (
      "arrows in texts",
      "1\n00:00:01,500 --> 00:00:02,000\nA --> B\nx -> 3: y-->z\n\n2\n00:00:03,000 --> 00:00:04,000\n--> C\n"
    ),
    ("milliseconds of few digits", "1\n00:00:01,5 --> 00:00:01,25\none\n\n2\n0:0:3,0 --> 0:0:04,000 X1:1\ntwo\n"),
  ])
  func `a sloppy SubRip is read`(what: String, text: String) throws {
    let folder = try TemporaryFolder()
    let path = folder.path("a.srt")
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    let script = try Tool.ffmpeg(["-f", "srt", "-i", path, "-f", "ass", "-"])
    let texts = String(decoding: script, as: UTF8.self).split(whereSeparator: \.isNewline).compactMap { line in
      line.hasPrefix("Dialogue:") ? line.split(separator: ",", maxSplits: 9, omittingEmptySubsequences: false)[9] : nil
    }
    let times = try Tool.run(
      "ffprobe", ["-v", "error", "-f", "srt", "-show_entries", "packet=pts,duration", "-of", "csv=p=0", path]
    ).output
    let expected = zip(String(decoding: times, as: UTF8.self).split(separator: "\n"), texts).map { line, text in
      let numbers = line.split(separator: ",").compactMap { Int($0) }
      return "\(numbers[0])-\(numbers[0] + numbers[1]) \(text)"
    }
    #expect(expected.count == 2)
    #expect(try events(AssetProbe.probe(openSource(path), name: "a.srt")) == expected, "\(what)")
  }

  @Test(arguments: ["\n", "\r\n"])
  func `blocks of WebVTT that are no captions hide none`(end: String) throws {
    let text = """
      \u{FEFF}WEBVTT - a title
      Kind: captions
      Language: en

      STYLE
      ::cue { color: red }

      REGION
      id:fred

      NOTES of the author
      00:01.000 --> 00:02.000 align:start
      one

      NOTE two --- is below
      it

      2
      00:00:03.000 --> 01:00:04.500
      two
      lines

      STYLE
      ::cue(b) {}

      STYLE
      00:05.000 --> 00:06.000
      three

      """
    let found = try events(probe(text.replacing("\n", with: end), as: "a.vtt"))
    #expect(found == ["1000-2000 one", "3000-3604500 two\\Nlines", "5000-6000 three"])
  }

  @Test func `WebVTT of more bytes than are read is refused`() throws {
    let (folder, limit) = (try TemporaryFolder(), CaptionsFormat.greatestSize)
    let file = try folder.create("a.vtt")
    try file.write(contentsOf: Data("WEBVTT\n\n00:01.000 --> 00:02.000\nHi\n".utf8))
    try file.truncate(atOffset: UInt64(limit + 1))
    let error = #expect(throws: MediaError.self) {
      try AssetProbe.probe(openSource(folder.path("a.vtt")), name: "a.vtt")
    }
    #expect(
      error?.code == .unsupported && error?.message.contains("at most \(limit)") == true,
      "\(String(describing: error))")
  }

  @Test func `WebVTT of as many bytes as are read is taken`() throws {
    /// States a size, of which it has only the first bytes.
    final class Head: ByteSource {
      private let head = MemorySource(Array("WEBVTT\n\n00:01.000 --> 00:02.000\nHi\n".utf8))
      let byteCount: Int64

      init(of byteCount: Int) { self.byteCount = Int64(byteCount) }

      func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(MediaError) -> Int {
        try head.read(at: offset, into: buffer)
      }
    }
    #expect(try WebVTTFile(Head(of: CaptionsFormat.greatestSize), name: "a.vtt") != nil)
    #expect(throws: MediaError.self) { try WebVTTFile(Head(of: CaptionsFormat.greatestSize + 1), name: "a.vtt") }
  }

  @Test func `what is no WebVTT is refused with its line`() throws {
    let cases: [(text: String, words: [String])] = [
      ("\n\na\n00:02,500 --> 00:03.500\nHi\n", ["line 4", "00:02,500", "00:01.000 --> 00:02.500"]),
      ("\n\n00:02.500 --> 00:03.5\nHi\n", ["line 3", "is not a caption's time"]),
      ("\n\n00:61.500 --> 01:03.500\nHi\n", ["line 3"]),
      ("\n\n00:01.000 -->\nHi\n", ["line 3"]),
      ("\n\n00:01.000 --> 00:00.500\nHi\n", ["line 3", "ends before"]),
      ("\n\n00:01.000 --> 00:02.000\nHi\n\na caption without a time\nHo\n", ["line 6", "without a time"]),
      ("\n\n00:01.000 --> 00:02.000\nHi\n00:02.000 --> 00:03.000\nHo\n", ["line 5", "after an empty line"]),
      ("\n00:01.000 --> 00:02.000\nHi\n", ["line 2", "after an empty line"]),
    ]
    for (text, words) in cases {
      let error = #expect(throws: MediaError.self, "\(text)") { try probe("WEBVTT" + text, as: "a.vtt") }
      #expect(words.allSatisfy { error?.description.contains($0) == true }, "\(String(describing: error))")
    }
  }

  @Test func `what is no SubRip is refused with its line`() throws {
    let cases: [(text: String, words: [String])] = [
      ("1\n00:00:01,000 -> 00:00:02,000\nHi\n\n2\n00:00:03,000 --> 00:00:04,000\nHo\n", ["line 2", "->"]),
      ("1\n00:00:01,000 --> 00:00:02,000\nHi\n\n2\n00:00:03,000 --> 00:00:4,0000\nHo\n", ["line 6", "00:00:4,0000"]),
      ("1\n00:00:01,000 --> 00:00:02,000\nHi\n\n2\n00:00:05,000 --> 00:00:04,000\nHo\n", ["line 6", "ends before"]),
      ("Dear friend,\nthis --> is no caption\n", ["line 1", "Dear friend", "00:00:01,000 --> 00:00:02,500"]),
      ("1\n00:00:01,000 --> 00:61:02,000\nHi\n", ["line 2", "is not a caption's time"]),
      ("1\n00:00:01.000 -->\nHi\n", ["line 2"]),
      ("1\n00:00:01,000 -> 00:00:02,000\nHi\n", ["line 2", "->", "00:00:01,000 --> 00:00:02,500"]),
      ("1\n00:00:01,000 --> 00:00:02,000\nHi\n\n2\n00:00:03,000 -> 00:00:04,000\nHo\n", ["line 6", "->"]),
      ("1\n00:00:01,000 --> 00:00:02,000\nH\0i\n", ["line 3", "NUL"]),
      ("1\r00:00:01,000 --> 00:00:02,000\rHi\r\r2\r00:00:03,000 --> 00:00:04\rHo\r", ["line 6"]),
    ]
    for (text, words) in cases {
      do {
        _ = try probe(text, as: "a.srt")
        Issue.record("\(text) was taken")
      } catch let error as MediaError {
        #expect(words.allSatisfy { error.description.contains($0) }, "\(error)")
      }
    }
    let latin = Array("1\n00:00:01,000 --> 00:00:02,000\nHi\n\n2\n00:00:03,000 --> 00:00:04,000\n".utf8) + [0xFC, 10]
    #expect(SubRipCheck.problem(latin)?.contains("line 7") == true)
    #expect(SubRipCheck.problem(Array(Self.srt.utf8)) == nil)
    #expect(SubRipCheck.problem(Array("\u{FEFF}\r\n00:00:01.5 --> 00:00:02,50 X1:0\r\nno number\r\n".utf8)) == nil)
  }
}
