import CompositionModel
import ContentStorage
import Digest
import EditDocument
import FarmModel
import FoundationEssentials
import Jobs
import RenderTasks
import SystemSupport

/// The fonts of a document's texts.
struct FoundFonts: Sendable {
  var texts: [FontRequest: TextFonts] = [:]
  var findings: [FontRequest: FontFindings] = [:]
  /// The files of all of them, which are in the content store.
  var files: [Content] = []
}

/// The task that finds the fonts of a request's texts, and its result.
///
/// It is a probe task without inputs. The fonts are found once for a job, on one worker, and are inputs of the video
/// tasks like media: so all segments are drawn with the same fonts, whatever is installed on the workers that draw
/// them.
enum FontTasks {
  private static let maximumBytes = 64 << 20
  private static let chunk = 1 << 20

  /// One task if the document has texts. It is never taken from the result cache: the fonts that are installed may have
  /// changed, and with equal fonts its result is equal.
  static func make(_ request: JobRequest) throws -> [NewTask] {
    // A document that cannot be read is reported elsewhere.
    guard let document = try? request.document.read() else { return [] }
    let texts = texts(of: document)
    let captions = try captions(of: document, request)
    if texts.isEmpty, captions.isEmpty { return [] }
    let payload = try TaskMaker.encoded(
      .fonts(FontTask(texts: texts, captions: captions.isEmpty ? nil : captions.map(\.task))))
    var inputs: [Content] = []
    for (_, file) in captions where !inputs.contains(file) { inputs.append(file) }
    let count = texts.count + captions.count
    return [
      NewTask(
        kind: .probe, label: "fonts of \(count) \(count == 1 ? "text" : "texts")", payload: payload,
        inputs: inputs,
        fingerprint: TaskFingerprint.of(build: "", kind: .probe, payload: payload, inputs: inputs.map(\.digest)),
        cost: 0, work: 0)
    ]
  }

  /// Whether the result of a probe task is a list of fonts, and not the description of a file. Blocks.
  static func isList(_ content: Content, store: ContentStore) throws -> Bool {
    let file = try mapErrors { () throws(SystemError) in try OpenFile.open(store.path(of: content.digest)) }
    let head = try mapErrors { () throws(SystemError) in try file.read(at: 0, length: FontList.headSize) }
    return FontList.length(inHead: head) != nil
  }

  /// The fonts of the request's texts, whose files are stored each as content of its own; none if the task is not done.
  /// Throws `.mismatch` if the list does not have its digest, and `WrongResult` if it does not have the fonts of the
  /// texts. Blocks.
  static func read(_ tasks: [RenderTask], _ request: JobRequest, store: ContentStore) throws -> FoundFonts {
    let found = try tasks.first { task in
      guard task.kind == .probe, task.state == .done, let result = task.result else { return false }
      return try task.inputs.isEmpty || isList(result, store: store)
    }
    guard let result = found?.result else { return FoundFonts() }
    let file = try mapErrors { () throws(SystemError) in try OpenFile.open(store.path(of: result.digest)) }
    // A list that a disk fault changed may still be one, with other fonts for the texts.
    try requireWhole(result, file)
    let (list, length) = try list(in: result, file)
    let document = try request.document.read()
    let texts = texts(of: document) + (list.textsOfCaptions ?? [])
    var offset = Int64(FontList.headSize + length)
    guard list.covers(texts), list.files.reduce(offset, { $0 &+ $1.size }) == result.size else {
      throw invalid(result)
    }
    var fonts = FoundFonts(texts: Dictionary(zip(texts, list.texts)) { first, _ in first })
    fonts.findings = Dictionary(zip(texts, list.findings)) { first, _ in first }
    for font in list.files {
      guard let digest = SHA256Digest(hex: font.digest) else { throw invalid(result) }
      let content = Content(digest: digest, size: font.size)
      if !store.contains(content) { try copy(content, from: file, at: offset, to: store) }
      fonts.files.append(content)
      offset += font.size
    }
    return fonts
  }

  /// The list of fonts that a task returned. Throws `WrongResult` for a content that has none. Blocks.
  static func list(in result: Content, store: ContentStore) throws -> FontList {
    let file = try mapErrors { () throws(SystemError) in try OpenFile.open(store.path(of: result.digest)) }
    do {
      return try list(in: result, file).list
    } catch let error as WrongResult {
      // What was damaged on the disk is not what the worker returned.
      try requireWhole(result, file)
      throw error
    }
  }

  private static func requireWhole(_ result: Content, _ file: OpenFile) throws(ContentStoreError) {
    guard try mapErrors({ () throws(SystemError) in try file.content() }) == result else {
      throw ContentStoreError(.mismatch, "the content \(result.digest) is damaged on the coordinator's disk")
    }
  }

  /// And the length of its JSON.
  private static func list(in result: Content, _ file: OpenFile) throws -> (list: FontList, length: Int) {
    guard result.size >= FontList.headSize else { throw invalid(result) }
    let head = try read(FontList.headSize, of: file, at: 0)
    guard let length = FontList.length(inHead: head), length <= maximumBytes,
      Int64(FontList.headSize + length) <= result.size
    else { throw invalid(result) }
    let json = try Data(read(length, of: file, at: Int64(FontList.headSize)))
    return (try WrongResult.decode(FontList.self, from: json, as: "the list of a job's fonts"), length)
  }

  /// The texts of the document: those of its overlays, and of captions that it lists.
  private static func texts(of document: ExaminedDocument) -> [FontRequest] {
    var seen: Set<FontRequest> = []
    let listed = document.listedCaptions.flatMap { captions, style in
      CaptionScript(captions, style: style, frame: PixelSize(width: 2, height: 2)).requests
    }
    return (document.fontRequests + listed).filter { seen.insert($0).inserted }
  }

  /// The files of captions that the request's film draws.
  private static func captions(
    of document: ExaminedDocument, _ request: JobRequest
  ) throws -> [(task: FontTaskCaptions, file: Content)] {
    let files = Dictionary(try request.files().map { ($0.digest.hex, $0) }) { first, _ in first }
    return document.drawnCaptions.compactMap { drawn in
      guard let asset = request.assets.first(where: { $0.id == drawn.asset }), let file = files[asset.digest] else {
        return nil
      }
      return (FontTaskCaptions(digest: asset.digest, style: drawn.style), file)
    }
  }

  private static func copy(
    _ content: Content, from file: OpenFile, at start: Int64, to store: ContentStore
  ) throws {
    let upload = try store.upload(content)
    try upload.resume()
    while upload.received < content.size {
      let count = min(Int64(chunk), content.size - upload.received)
      try upload.write(Data(read(Int(count), of: file, at: start + upload.received)))
    }
    try upload.finish()
  }

  private static func read(_ count: Int, of file: OpenFile, at offset: Int64) throws(ContentStoreError) -> [UInt8] {
    let bytes = try mapErrors { () throws(SystemError) in try file.read(at: offset, length: count) }
    guard bytes.count == count else {
      throw ContentStoreError(.mismatch, "the fonts of a job end after \(offset + Int64(bytes.count)) bytes")
    }
    return bytes
  }

  private static func invalid(_ content: Content) -> WrongResult {
    WrongResult(description: "the content \(content.digest) does not have the fonts of the job's texts")
  }
}
