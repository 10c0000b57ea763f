import CompositionModel
import EditDocument
import Foundation
import Media
import RenderTasks
import Segmenter
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

/// Captions that are drawn: those of ffmpeg's `subtitles` filter, and the same at any cut of the film.
@Suite struct CaptionTests {
  static let script = CaptionFile.ass(
    styles: [
      "Default,DejaVu Sans,18,&H00FFFFFF,&H000000FF,&H00000000,&H00000000,0,0,0,0,100,100,0,0,1,2,1,2,10,10,10,1",
      "Sign,DejaVu Sans,24,&H0000FFFF,&H000000FF,&H00FF0000,&H80000000,-1,0,0,0,100,100,2,10,1,2,2,7,20,20,20,1",
    ],
    events: [
      "0,0:00:00.20,0:00:01.50,Default,,0,0,0,,Plain {\\i1}italic{\\i0} and {\\c&H00FF00&}green\\Nof two lines",
      "0,0:00:00.70,0:00:02.50,Default,,0,0,0,,above the first",
      "0,0:00:02.00,0:00:03.00,Default,,0,0,0,,מימין לשמאל and 日本語",
      "0,0:00:00.50,0:00:02.80,Sign,,0,0,0,,SIGN {\\rDefault}after",
      "0,0:00:01.00,0:00:02.90,Default,,0,0,0,,{\\pos(160,90)\\fad(300,300)\\t(\\fscx180)}moved",
    ])

  /// A film of 3 s with captions, rendered segment by segment.
  struct Film {
    let folder: TemporaryFolder
    let background: AssetDescription
    let captions: AssetDescription
    let fonts: [FontRequest: TextFonts]
    let inputs: [String: any ByteSource]

    init(_ text: String, as name: String) throws {
      folder = try TemporaryFolder()
      let (picture, file) = (folder.path("sea.mkv"), folder.path(name))
      _ = try Tool.ffmpeg([
        "-f", "lavfi", "-i", "color=c=0x335577:s=320x180:r=30:d=3", "-pix_fmt", "yuv444p", "-c:v", "ffv1", picture,
      ])
      try Data(text.utf8).write(to: URL(fileURLWithPath: file))
      background = try AssetProbe.probe(openSource(picture), name: picture)
      let probed = try AssetProbe.probe(openSource(file), name: file)
      captions = try JSONDecoder().decode(AssetDescription.self, from: JSONEncoder().encode(probed))
      let style = CaptionStyle(size: 1, outline: 0, margin: 0)
      let task = FontTask(texts: [], captions: [FontTaskCaptions(digest: "c", style: style)])
      let (list, contents) = try FontFinder.find(task, inputs: ["c": openSource(file)])
      fonts = Dictionary(zip(list.textsOfCaptions ?? [], list.texts)) { first, _ in first }
      var inputs: [String: any ByteSource] = ["a": try openSource(picture)]
      for (font, bytes) in zip(list.files, contents) { inputs[font.digest] = MemorySource(bytes) }
      self.inputs = inputs
    }

    func plan(_ captions: String, segment: String?) throws -> RenderPlan {
      let document = """
        { "sheaf": 1, "assets": { "a": "a", "c": "c" }, "tracks": [ { "clips": [ { "asset": "a" } ] } ],
          "captions": [ \(captions) ],
          "export": { "to": "film.mkv", "video": { "codec": "ffv1", "pixelFormat": "yuv444p" } } }
        """
      let edit = try Document.parse(Array(document.utf8)).lower(
        assets: ["a": background, "c": self.captions], output: nil)
      return try RenderPlanner.plan(
        edit,
        assets: [
          "a": PlannedAsset(description: background, digest: "a"),
          "c": PlannedAsset(description: self.captions, digest: "c"),
        ], fonts: fonts,
        segmentDuration: segment.flatMap { MediaTime(notation: $0, frameDuration: MediaTime(value: 1, timescale: 30)) })
    }

    func frames(_ captions: String = #"{ "asset": "c" }"#, segment: String? = nil) throws -> [Data] {
      var frames: [Data] = []
      for segment in try plan(captions, segment: segment).segments {
        let task = try JSONDecoder().decode(VideoTask.self, from: JSONEncoder().encode(segment.task))
        let maker = try FrameMaker(task, inputs: inputs)
        for index in 0..<task.frameCount { frames.append(try maker.frame(index).pixels) }
      }
      return frames
    }

    /// A frame that is made alone.
    func frame(_ index: Int, _ captions: String = #"{ "asset": "c" }"#) throws -> Data {
      let segments = try plan(captions, segment: nil).segments
      let segment = try #require(segments.first { $0.frames.contains(index) })
      return try FrameMaker(segment.task, inputs: inputs).frame(index - segment.frames.lowerBound).pixels
    }
  }

  @Test func `an ASS script looks as libass draws it for ffmpeg`() throws {
    let film = try Film(Self.script, as: "script.ass")
    let frames = try film.frames()
    let raw = try Tool.ffmpeg([
      "-i", film.folder.path("sea.mkv"), "-vf", "subtitles=\(film.folder.path("script.ass"))", "-pix_fmt", "yuv444p",
      "-f", "rawvideo", "-",
    ])
    let size = 320 * 180 * 3
    #expect(frames.count == 90 && raw.count == 90 * size)
    // Before and after all captions, one, two at a time, the second alone where it was, and what moves.
    for (index, isDrawn) in [(3, false), (10, true), (28, true), (50, true), (65, true), (80, true), (88, true)] {
      let expected = Data(raw.dropFirst(index * size).prefix(size))
      var (other, sum, ink) = (0, 0, 0)
      for (place, (a, b)) in zip(frames[index], expected).enumerated() where place < 320 * 180 {
        let difference = abs(Int(a) - Int(b))
        other += difference > 40 ? 1 : 0
        sum += difference
        ink += a == frames[3][place] ? 0 : 1
      }
      // ffmpeg's filter mixes with another matrix and fewer bits, and finds other fonts for Hebrew.
      #expect(Double(sum) / Double(320 * 180) < 0.5 && other < 60, "frame \(index): \(sum), \(other) pixels")
      #expect(isDrawn == (ink > 300), "frame \(index) has \(ink) pixels of captions")
    }
  }

  @Test func `characters beyond U+FFFF are drawn, and what has only a picture does not hide its caption`() throws {
    let head = Self.script.components(separatedBy: "Dialogue:")[0]
    let lines = [
      "smile 😀 here", "{\\fnNoto Sans CJK JP}家 𠮷 家", "{\\fnNoto Color Emoji}x{\\r} at 👨‍👩‍👧 home",
    ].enumerated().map { "Dialogue: 0,0:00:0\($0).00,0:00:0\($0).60,Default,,0,0,0,,\($1)\n" }
    let film = try Film(head + lines.joined(), as: "emoji.ass")
    let frames = try film.frames()
    let raw = try Tool.ffmpeg([
      "-i", film.folder.path("sea.mkv"), "-vf", "subtitles=\(film.folder.path("emoji.ass"))", "-pix_fmt", "yuv444p",
      "-f", "rawvideo", "-",
    ])
    let size = 320 * 180 * 3
    for index in [5, 35] {
      let expected = Data(raw.dropFirst(index * size).prefix(320 * 180))
      let other = zip(frames[index], expected).count { abs(Int($0) - Int($1)) > 40 }
      #expect(other < 60, "frame \(index): \(other) pixels")
    }
    let ink = zip(frames[65], frames[80]).prefix(320 * 180).count { $0 != $1 }
    #expect(ink > 300, "\(ink) pixels of the caption with pictures")
  }

  @Test func `a tag's number counts whatever follows it`() throws {
    let head = Self.script.components(separatedBy: "Dialogue:")[0]
    func frame(_ text: String) throws -> Data {
      try Film(head + "Dialogue: 0,0:00:00.00,0:00:01.00,Default,,0,0,0,,\(text)\n", as: "a.ass").frame(10)
    }
    #expect(try frame("{\\b1 x}bold{\\b0}{\\i1x} italic") == frame("{\\b1}bold{\\b0}{\\i1} italic"))
  }

  @Test func `a face that has ends of lines alone has a font`() throws {
    let film = try Film("1\n00:00:00,000 --> 00:00:01,000\n<i>one</i>\n<i>two</i>\n", as: "talk.srt")
    let lines = film.fonts.keys.filter { $0.text.allSatisfy(\.isNewline) }
    #expect(!lines.isEmpty)
    for (request, fonts) in film.fonts {
      #expect(fonts.runs.reduce(0) { $0 + $1.length } == request.text.utf8.count, "\(request)")
    }
    let frames = try film.frames()
    #expect(frames[10] != frames[60])
  }

  @Test func `a frame has the same captions at any cut`() throws {
    let film = try Film(Self.script, as: "script.ass")
    let whole = try film.frames()
    for segment in TestExtent.of(["7f"], whole: ["5f", "7f", "13f"]) {
      let cut = try film.frames(segment: segment)
      let other = whole.indices.filter { whole[$0] != cut[$0] }
      #expect(other.isEmpty, "frames \(other) in segments of \(segment)")
    }
  }

  @Test func `captions without styles have those of the document, and are shown from their start to before their end`()
    throws
  {
    let film = try Film(
      """
      1
      00:00:00,500 --> 00:00:01,000
      <i>Hello</i> & <font color="#ff0000">red</font> 中文

      2
      00:00:02,000 --> 00:00:02,034
      one frame
      and two lines
      """, as: "talk.srt")
    let plain = try film.frames()
    #expect(plain.indices.filter { plain[$0] != plain[0] } == Array(15..<30) + [60, 61])
    let moved = try film.frames(
      ##"{ "asset": "c", "at": 0.5, "use": "0.6..1", "size": 40, "color": "#00ff00", "anchor": "top", "margin": 20 }"##)
    #expect(moved.indices.filter { moved[$0] != moved[0] } == Array(15..<27))
    func rows(_ frame: Data) -> [Int] {
      (0..<180).filter { row in
        frame.dropFirst(row * 320).prefix(320).contains { $0 != frame.first }
      }
    }
    let (bottom, top) = (rows(plain[20]), rows(moved[20]))
    #expect(bottom.first! > 150 && bottom.last! < 180 - 6)
    #expect(top.first! > 18 && top.first! < 40 && top.last! < 70)
  }

  private static let margins: [(Int, Int?, Int)] = TestExtent.of(
    [(20, nil, 20), (20, 90, 90), (50, 0, 0)], whole: [(20, nil, 20), (20, 90, 90), (50, 0, 0), (3, 61, 61)])

  /// Lines are wrapped between the margins at the sides, which are those above and below unless they have their own.
  @Test(arguments: margins)
  func `the margins at the sides are apart from those above and below`(margin: Int, side: Int?, right: Int) throws {
    let words = Array(repeating: "M", count: 24).joined(separator: " ")
    let film = try Film("1\n00:00:00,000 --> 00:00:01,000\n\(words)\n", as: "talk.srt")
    let own = side.map { #", "sideMargin": \#($0)"# } ?? ""
    let frame = [UInt8](
      try film.frame(10, #"{ "asset": "c", "outline": 0, "size": 16, "margin": \#(margin)\#(own) }"#))
    let ink = (0..<(320 * 180)).filter { frame[$0] != frame[0] }
    let (columns, rows) = (ink.map { $0 % 320 }, ink.map { $0 / 320 })
    let (first, last, lowest) = (try #require(columns.min()), try #require(columns.max()), try #require(rows.max()))
    #expect(first >= right && 319 - last >= right, "from \(first) to \(last)")
    // All words take about 320 pixels, in lines that are as long as one another.
    let lines = Set(rows).sorted().reduce(into: (count: 0, last: -9)) { found, row in
      found = (found.count + (row > found.last + 1 ? 1 : 0), row)
    }
    #expect((lines.count > 2) == (right == 90), "\(lines.count) lines")
    #expect((margin..<(margin + 6)).contains(179 - lowest), "ends below at \(lowest)")
  }

  @Test func `a line that begins in a script from the right ends at the left`() throws {
    func caption(_ text: String) -> String { "1\n00:00:00,000 --> 00:00:01,000\n\(text)\n" }
    // The second has the direction in its text.
    let (plain, embedded) = ("שלום, world!\nHello, שלום!", "\u{202B}שלום, world!\u{202C}\nHello, שלום!")
    let drawn = try Film(caption(plain), as: "talk.srt").frame(10)
    #expect(try drawn == Film(caption(embedded), as: "talk.srt").frame(10))
    #expect(try drawn != Film(caption("\u{202A}שלום, world!\u{202C}\nHello, שלום!"), as: "talk.srt").frame(10))
  }

  @Test func `a segment without captions is that of a film without them`() throws {
    let film = try Film("1\n00:00:01,000 --> 00:00:01,500\nshort\n", as: "talk.srt")
    let with = try film.plan(#"{ "asset": "c" }"#, segment: "15f").segments
    let without = try film.plan("", segment: "15f").segments
    let changed = zip(with, without).map { $0.task != $1.task }
    #expect(with.count > 2 && changed == with.map { $0.frames.overlaps(30..<45) })
    let encoded = try JSONEncoder().encode(without[0].task)
    #expect(!String(decoding: encoded, as: UTF8.self).contains("captions"))
  }
}
