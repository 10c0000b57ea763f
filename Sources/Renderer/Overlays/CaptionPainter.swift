import CAss
import CKernels
import CPango
import CompositionModel
import Media
import RenderTasks

/// Draws the captions of a segment, with libass and with the fonts that were found for them.
///
/// libass keeps the place of a caption as long as that is shown, so a picture depends on those that were drawn before.
/// Here it depends on the task alone: whenever other captions are shown than before, libass begins anew, and draws the
/// frames in which the captions that overlap these have appeared.
final class CaptionPainter {
  private let planned: PlannedCaptions
  private let format: VideoTaskFormat
  private let library: OpaquePointer
  private let renderer: OpaquePointer
  private var track: UnsafeMutablePointer<ASS_Track>?
  /// The events with the names of their fonts.
  private let events: [(event: CaptionEvent, fields: String)]
  private let times: CaptionTimes
  /// The latest images of which a picture was drawn.
  private var drawn: [Drawn] = []
  /// Whether an event's size changes while it is shown, so that its place may.
  private let changes: [Bool]
  /// The events that the latest frame shows.
  private var shown: [Int] = []
  private var latest: (number: Int, picture: BlendPicture?) = (0, nil)

  /// - Parameter inputs: The fonts' files by digest.
  init(
    _ planned: PlannedCaptions, format: VideoTaskFormat, inputs: [String: any ByteSource]
  ) throws(RenderError) {
    self.planned = planned
    self.format = format
    TextEngine.lock()
    defer { TextEngine.unlock() }
    guard let library = ass_library_init() else { throw Self.noEngine }
    sheaf_ass_be_silent(library)
    ass_set_extract_fonts(library, 0)
    var names: [String] = []
    var loaded: Set<String> = []
    do throws(RenderError) {
      for font in planned.fonts {
        guard let source = inputs[font.digest] else {
          throw RenderError(.task, "the font \(font.digest) is not among the task's inputs")
        }
        names.append(try Self.family(of: font, source))
        if loaded.insert(font.digest).inserted { try Self.load(source, into: library) }
      }
    } catch {
      ass_library_done(library)
      throw error
    }
    guard let renderer = ass_renderer_init(library) else {
      ass_library_done(library)
      throw Self.noEngine
    }
    self.library = library
    self.renderer = renderer
    let (width, height) = (Int32(format.size.width), Int32(format.size.height))
    ass_set_frame_size(renderer, width, height)
    ass_set_storage_size(renderer, width, height)
    ass_set_hinting(renderer, ASS_HINTING_NONE)
    ass_set_fonts(renderer, nil, nil, Int32(ASS_FONTPROVIDER_NONE.rawValue), nil, 0)
    events = planned.events.map { event in
      var fields = event.fields
      for (index, name) in names.enumerated() {
        fields = fields.replacing(CaptionScript.place(ofFont: index), with: name)
      }
      return (event, fields)
    }
    times = CaptionTimes(
      planned.events.map { .init(start: $0.start, end: $0.end, isPlacedFreely: $0.isPlacedFreely) })
    changes = planned.events.map { CaptionEvent.changesSize($0.fields) }
  }

  deinit {
    if let track { ass_free_track(track) }
    ass_renderer_done(renderer)
    ass_library_done(library)
  }

  private static var noEngine: RenderError {
    RenderError(.infrastructure, "the caption engine (libass) did not start")
  }

  /// The name by which libass finds a font.
  private static func family(of font: PlannedFont, _ source: any ByteSource) throws(RenderError) -> String {
    let path = try FontFiles.path(of: font.digest, source)
    var faces: Int32 = 0
    guard let pattern = FcFreeTypeQuery(path, UInt32(font.index & 0xFFFF), nil, &faces) else {
      throw RenderError(.task, "the font \(font.digest) cannot be read")
    }
    defer { FcPatternDestroy(pattern) }
    return (pattern.string(FC_FAMILY) ?? "").filter { !"\\{}".contains($0) }
  }

  private static func load(_ source: any ByteSource, into library: OpaquePointer) throws(RenderError) {
    var bytes = try mapErrors(to: RenderError.during("reading a font")) { () throws(MediaError) in
      try source.bytes(count: Int(source.byteCount))
    }
    guard bytes.count == Int(source.byteCount) else {
      throw RenderError(.infrastructure, "a font is shorter than its content")
    }
    CharacterMaps.complete(&bytes)
    bytes.withUnsafeMutableBufferPointer { buffer in
      buffer.withMemoryRebound(to: CChar.self) { ass_add_font(library, "font", $0.baseAddress, Int32($0.count)) }
    }
  }

  // MARK: Frames

  /// The captions of a frame of the segment, nil if there are none, with a number that another picture does not have.
  /// Indices must rise from call to call.
  func picture(_ frame: Int) throws(RenderError) -> (number: Int, picture: BlendPicture?) {
    TextEngine.lock()
    defer { TextEngine.unlock() }
    let time = try self.time(of: frame)
    let now = events.indices.filter { events[$0].event.start <= time && time < events[$0].event.end }
    let begins = now != shown || track == nil || now.contains { changes[$0] }
    shown = now
    guard !now.isEmpty else {
      if latest.picture != nil { latest = (latest.number + 1, nil) }
      return latest
    }
    if begins { try begin(before: frame) }
    var change: Int32 = 0
    let images = ass_render_frame(renderer, track, time, &change)
    // libass reports a change for each box, because it makes it anew.
    guard begins || change != 0 else { return latest }
    let drawn = Drawn.all(images, boxes: planned.boxes ?? [])
    if begins || drawn != self.drawn { latest = (latest.number + 1, try draw(drawn)) }
    self.drawn = drawn
    return latest
  }

  private func time(of frame: Int) throws(RenderError) -> Int64 {
    try mapErrors(to: RenderError.caused(.task, "the captions have no time for frame \(frame)")) {
      () throws(TimeError) in try planned.time(of: frame, frameDuration: format.frameDuration)
    }
  }

  /// Begins anew, and draws the frames before one in which captions appeared that are connected with those it shows.
  private func begin(before frame: Int) throws(RenderError) {
    if let track { ass_free_track(track) }
    guard let made = ass_new_track(library) else { throw Self.noEngine }
    track = made
    ass_set_check_readorder(made, 0)
    withBytes(of: planned.header) { ass_process_codec_private(made, $0, $1) }
    let time = try self.time(of: frame)
    let connected = times.connected(from: time, through: time)
    for index in connected {
      let (event, fields) = events[index]
      withBytes(of: fields) { ass_process_chunk(made, $0, $1, event.start, event.end - event.start) }
    }
    var frames: Set<Int> = []
    for index in connected {
      let first = try mapErrors(to: RenderError.caused(.task, "a caption has no frame")) { () throws(TimeError) in
        try planned.frame(at: events[index].event.start, frameDuration: format.frameDuration)
      }
      if first < frame { frames.insert(first) }
    }
    for earlier in frames.sorted() { _ = ass_render_frame(renderer, made, try self.time(of: earlier), nil) }
  }

  private func withBytes(of text: String, _ body: (UnsafeMutablePointer<CChar>?, Int32) -> Void) {
    var bytes = text.utf8CString
    bytes.withUnsafeMutableBufferPointer { body($0.baseAddress, Int32($0.count - 1)) }
  }

  /// Nil if nothing of it is within the frame.
  private func draw(_ images: [Drawn]) throws(RenderError) -> BlendPicture? {
    let whole = PixelRect(format.size)
    guard let covered = images.compactMap({ $0.rect.intersection(whole) }).reduce(nil, { $0?.enclosing($1) ?? $1 })
    else { return nil }
    let cell = format.cell
    let box = cell.reached(by: covered, in: format.size)
    let picture = try RGBAPicture(box.size)
    // All boxes are below all letters, so that the box of one caption hides no other one.
    for style in planned.boxes ?? [] {
      try picture.draw(images.filter { $0.box == style }.map { ($0.rect, $0.opacity) }, style, from: box)
    }
    for part in images where part.box == nil { picture.draw(part.image, from: box, within: covered) }
    try ColourConversion.graphics(format)?.convert(picture)
    return try BlendPicture(picture, rect: box, cell: cell, matrix: YCbCrMatrix(format))
  }
}

/// An image of which libass makes up captions.
private struct Drawn: Equatable {
  let image: ASS_Image
  let rect: PixelRect
  /// Nil: it is letters, an outline or a shadow.
  let box: PlannedCaptions.Box?

  /// Of 255.
  var opacity: UInt32 { 255 - (image.color & 0xFF) }

  /// Those that have pixels, from below.
  static func all(_ first: UnsafeMutablePointer<ASS_Image>?, boxes: [PlannedCaptions.Box]) -> [Drawn] {
    var all: [Drawn] = []
    var next = first
    while let image = next?.pointee {
      next = image.next
      let size = PixelSize(width: Int(image.w), height: Int(image.h))
      guard size.width > 0, size.height > 0 else { continue }
      let rect = PixelRect(x: Int(image.dst_x), y: Int(image.dst_y), size: size)
      let box = boxes.first { UInt32($0.mark) << 24 == image.color & 0xFFFF_FF00 }
      all.append(Drawn(image: image, rect: rect, box: image.isFilled ? box : nil))
    }
    return all
  }

  /// A bitmap is at the same place only if it is the same: libass keeps those of the frame before. A box it fills anew.
  static func == (left: Drawn, right: Drawn) -> Bool {
    left.rect == right.rect && left.box == right.box && left.image.color == right.image.color
      && (left.box != nil || left.image.bitmap == right.image.bitmap)
  }
}

extension ASS_Image {
  /// Whether it is a rectangle without gaps. Bitmaps of letters have rows that are longer than they are wide.
  fileprivate var isFilled: Bool {
    guard stride == w, let bitmap else { return false }
    return UnsafeBufferPointer(start: bitmap, count: Int(w) * Int(h)).allSatisfy { $0 == 255 }
  }
}

extension RGBAPicture {
  /// Draws boxes of one style; where they overlap there is one of them.
  /// - Parameters:
  ///   - boxes: With their opacity, of 255.
  ///   - origin: The rectangle of the frame that the picture is.
  fileprivate func draw(
    _ boxes: [(rect: PixelRect, opacity: UInt32)], _ style: PlannedCaptions.Box, from origin: PixelRect
  ) throws(RenderError) {
    guard !boxes.isEmpty else { return }
    let union = try CoverageMask(size)
    for (rect, opacity) in boxes {
      let mask = try CoverageMask(
        roundedBox: rect.shifted(x: -origin.x, y: -origin.y), radius: style.radius, size)
      for index in 0..<size.width * size.height {
        union.base[index] = max(union.base[index], UInt16((UInt32(mask.base[index]) * opacity + 127) / 255))
      }
    }
    var colour = style.color.premultiplied
    sheaf_paint_over(planes(), union.base, union.stride, &colour, Int32(size.width), Int32(size.height))
  }

  /// Draws a coverage in one colour over what is there.
  /// - Parameters:
  ///   - origin: The rectangle of the frame that the picture is.
  ///   - visible: What is drawn, in pixels of the frame.
  fileprivate func draw(_ image: ASS_Image, from origin: PixelRect, within visible: PixelRect) {
    let opacity = 255 - (image.color & 0xFF)
    let color = [image.color >> 24, image.color >> 16 & 0xFF, image.color >> 8 & 0xFF, 255].map { $0 * 257 }
    let size = PixelSize(width: Int(image.w), height: Int(image.h))
    guard opacity > 0, let bitmap = image.bitmap,
      let rect = PixelRect(x: Int(image.dst_x), y: Int(image.dst_y), size: size).intersection(visible)
    else { return }
    for y in rect.y..<(rect.y + rect.size.height) {
      let row = bitmap + (y - Int(image.dst_y)) * Int(image.stride)
      let start = (y - origin.y) * stride / 2 - origin.x
      for x in rect.x..<(rect.x + rect.size.width) {
        // 65025 is one.
        let share = UInt32(row[x - Int(image.dst_x)]) * opacity
        if share == 0 { continue }
        for index in 0..<4 {
          let sample = plane(index) + start + x
          let below = UInt64(sample.pointee) * UInt64(65025 - share)
          sample.pointee = UInt16((UInt64(color[index]) * UInt64(share) + below + 32512) / 65025)
        }
      }
    }
  }
}
