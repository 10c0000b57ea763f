import CompositionModel
import Media
import RenderTasks

/// The media presentation description by which a player of MPEG-DASH chooses among the renditions of a film and finds
/// their segments (ISO/IEC 23009-1): one period, whose segments are ranges of bytes of one file for each rendition.
struct PresentationDescription {
  typealias Rendition = MultivariantPlaylist.Rendition

  let package: StreamingPackage
  /// By the number of the output.
  let renditions: [Rendition]
  /// Bytes of the files of subtitles, by their numbers.
  let subtitleSizes: [Int64]

  private static let microseconds: Int128 = 1_000_000

  /// Renditions among which a player may switch while it plays.
  private struct AdaptationSet {
    /// The numbers of the outputs, in the order of the package.
    var outputs: [Int]
    var isOfPictures: Bool
  }

  var text: String {
    let pictures = sets(\.video) { pictureKey($0) }.map { AdaptationSet(outputs: $0, isOfPictures: true) }
    let sounds = sets(\.audio) { soundKey($0) }.map { AdaptationSet(outputs: $0, isOfPictures: false) }
    var elements: [XMLElement] = []
    // Encodings of the same pictures: which are those that each can be exchanged for.
    let numbers = pictures.indices.map { "\($0 + 1)" }
    for (index, set) in (pictures + sounds).enumerated() {
      let others = set.isOfPictures ? numbers.filter { $0 != "\(index + 1)" } : []
      elements.append(element(set, id: index + 1, exchangeable: others))
    }
    for number in package.subtitles.indices { elements.append(subtitles(number, id: elements.count + 1)) }
    let root = XMLElement(
      "MPD",
      [
        ("xmlns", "urn:mpeg:dash:schema:mpd:2011"), ("profiles", "urn:mpeg:dash:profile:isoff-main:2011"),
        ("type", "static"), ("mediaPresentationDuration", Self.duration(end)),
        ("minBufferTime", Self.duration(bufferTime)),
      ],
      programInformation + [XMLElement("Period", [("id", "1"), ("start", "PT0S")], elements)])
    return root.document
  }

  private var programInformation: [XMLElement] {
    let fields = [("Title", "title"), ("Copyright", "copyright")].compactMap { name, key in
      package.metadata?[key].map { XMLElement(name, text: $0) }
    }
    return fields.isEmpty ? [] : [XMLElement("ProgramInformation", [], fields)]
  }

  // MARK: Adaptation sets

  /// The outputs of the variants, each once, in groups with the same key.
  private func sets(_ output: KeyPath<StreamingPackage.Variant, Int?>, by key: (Rendition) -> [String]) -> [[Int]] {
    var (keys, groups): ([[String]], [[Int]]) = ([], [])
    for number in package.variants.compactMap({ $0[keyPath: output] }) {
      guard !groups.joined().contains(number) else { continue }
      let own = key(renditions[number])
      if let group = keys.firstIndex(of: own) {
        groups[group].append(number)
      } else {
        keys.append(own)
        groups.append([number])
      }
    }
    return groups
  }

  /// The family of the codec: its name without profile and level.
  private static func family(_ codec: String) -> String { codec.prefix { $0 != "." }.lowercased() }

  private func pictureKey(_ rendition: Rendition) -> [String] { [Self.family(rendition.codec)] }

  private func soundKey(_ rendition: Rendition) -> [String] {
    let (label, encoder) = (rendition.file.audioLabel, rendition.file.audio?.encoder)
    return [
      Self.family(rendition.codec), label?.language ?? "", label?.title ?? "", "\(encoder?.channels ?? 0)",
      "\(encoder?.sampleRate ?? 0)",
    ]
  }

  private func element(_ set: AdaptationSet, id: Int, exchangeable: [String]) -> XMLElement {
    let members = set.outputs.map { renditions[$0] }
    let first = members[0].file
    var attributes: [(String, String?)] = [
      ("id", "\(id)"), ("contentType", set.isOfPictures ? "video" : "audio"),
    ]
    var properties: [XMLElement] = []
    let label = set.isOfPictures ? first.videoLabel : first.audioLabel
    attributes.append(("lang", label?.language.map(LanguageTag.tag)))
    if let video = first.video { attributes.append(("par", Self.shape(video))) }
    attributes += [
      ("segmentAlignment", "true"), ("mimeType", set.isOfPictures ? "video/mp4" : "audio/mp4"), ("startWithSAP", "1"),
    ]
    if let channels = first.audio?.encoder.channels, let configuration = Self.channelConfigurations[channels] {
      properties.append(
        Self.descriptor("AudioChannelConfiguration", "urn:mpeg:mpegB:cicp:ChannelConfiguration", "\(configuration)"))
    }
    if !exchangeable.isEmpty {
      properties.append(
        Self.descriptor(
          "SupplementalProperty", "urn:mpeg:dash:adaptation-set-switching:2016", exchangeable.joined(separator: ",")))
    }
    if let transfer = first.video?.encoder.colour.transfer, let code = Self.wideTransfers[transfer] {
      properties.append(
        Self.descriptor("SupplementalProperty", "urn:mpeg:mpegB:cicp:TransferCharacteristics", "\(code)"))
    }
    if let title = label?.title { properties.append(XMLElement("Label", text: title)) }
    properties.append(Self.role("main"))
    return XMLElement("AdaptationSet", attributes, properties + members.map(representation))
  }

  private func subtitles(_ number: Int, id: Int) -> XMLElement {
    let description = package.subtitles[number].description
    let traits = Set(description.characteristics ?? [])
    let isCaption = !traits.isDisjoint(with: ["hearing_impaired", "captions"])
    let size = Int128(subtitleSizes[number]) * 8
    let rate = (size * Self.microseconds + Int128(bufferTime) - 1) / Int128(bufferTime)
    var children: [XMLElement] = []
    if let title = description.label.title { children.append(XMLElement("Label", text: title)) }
    children.append(Self.role(traits.contains("forced") ? "forced-subtitle" : isCaption ? "caption" : "subtitle"))
    // Two cannot be those that are shown without being asked.
    if description.isDefault, !package.subtitles[..<number].contains(where: { $0.description.isDefault }) {
      children.append(Self.role("main"))
    }
    let file = package.wholeSubtitleFile(number)
    children.append(
      XMLElement(
        "Representation", [("id", Self.id(file, of: package)), ("bandwidth", "\(max(1, rate))")],
        [XMLElement("BaseURL", text: file)]))
    return XMLElement(
      "AdaptationSet",
      [
        ("id", "\(id)"), ("contentType", "text"), ("lang", description.label.language.map(LanguageTag.tag)),
        ("mimeType", "text/vtt"),
      ], children)
  }

  private static func role(_ value: String) -> XMLElement { descriptor("Role", "urn:mpeg:dash:role:2011", value) }

  private static func descriptor(_ name: String, _ scheme: String, _ value: String) -> XMLElement {
    XMLElement(name, [("schemeIdUri", scheme), ("value", value)])
  }

  /// The numbers of ISO/IEC 23091-3 for the layouts of so many channels.
  private static let channelConfigurations = [1: 1, 2: 2, 6: 6, 8: 12]
  /// The numbers of ISO/IEC 23091-2 for transfer functions of a greater range than that of usual pictures.
  private static let wideTransfers = ["smpte2084": 16, "arib-std-b67": 18]

  // MARK: Representations

  private func representation(_ rendition: Rendition) -> XMLElement {
    var attributes: [(String, String?)] = [
      ("id", Self.id(rendition.name, of: package)), ("bandwidth", "\(bandwidth(of: rendition))"),
      ("codecs", rendition.codec),
    ]
    if let video = rendition.file.video {
      let (rate, aspect) = (video.format.frameDuration, video.encoder.pixelAspect ?? .square)
      attributes += [
        ("width", "\(video.format.size.width)"), ("height", "\(video.format.size.height)"),
        ("frameRate", Self.ratio(Int(rate.timescale), Int(clamping: rate.value), separator: "/")),
        ("sar", Self.ratio(aspect.horizontal, aspect.vertical)),
      ]
    }
    if let audio = rendition.file.audio { attributes.append(("audioSamplingRate", "\(audio.encoder.sampleRate)")) }
    return XMLElement(
      "Representation", attributes, [XMLElement("BaseURL", text: rendition.name), segmentList(rendition)])
  }

  private func segmentList(_ rendition: Rendition) -> XMLElement {
    let segments = rendition.segments
    var runs: [(start: Int64, duration: Int64, count: Int)] = []
    for segment in segments {
      // What the edit list hides before the film's start is not presented.
      let start = max(0, segment.time.lowerBound)
      let duration = segment.time.upperBound - start
      if let last = runs.last, last.duration == duration {
        runs[runs.count - 1].count += 1
      } else {
        runs.append((start, duration, 1))
      }
    }
    let timeline = runs.enumerated().map { index, run in
      XMLElement(
        "S",
        [
          ("t", index == 0 ? "\(run.start)" : nil), ("d", "\(run.duration)"),
          ("r", run.count > 1 ? "\(run.count - 1)" : nil),
        ])
    }
    let head = XMLElement("Initialization", [("range", Self.range(rendition.movie.head))])
    return XMLElement(
      "SegmentList", [("timescale", "\(rendition.movie.timescale)")],
      [head, XMLElement("SegmentTimeline", [], timeline)]
        + segments.map { XMLElement("SegmentURL", [("mediaRange", Self.range($0.bytes))]) })
  }

  private static func range(_ bytes: Range<Int64>) -> String { "\(bytes.lowerBound)-\(bytes.upperBound - 1)" }

  /// The name of a file without what all begin with and without its extension: no two are the same.
  private static func id(_ file: String, of package: StreamingPackage) -> String {
    let name = file.dropFirst(package.stem.utf8.count + 1)
    return String(name[..<(name.lastIndex(of: ".") ?? name.endIndex)])
  }

  private static func shape(_ video: StitchedVideo) -> String {
    let (size, aspect) = (video.format.size, video.encoder.pixelAspect ?? .square)
    return ratio(size.width * aspect.horizontal, size.height * aspect.vertical)
  }

  /// In lowest terms. A whole number of frames a second is without a denominator.
  private static func ratio(_ first: Int, _ second: Int, separator: String = ":") -> String {
    var (divisor, rest) = (first, second)
    while rest != 0 { (divisor, rest) = (rest, divisor % rest) }
    divisor = max(1, divisor)
    let denominator = second / divisor
    return separator == "/" && denominator == 1
      ? "\(first / divisor)" : "\(first / divisor)\(separator)\(denominator)"
  }

  // MARK: Times and bit rates

  /// Microseconds, rounded up.
  private static func microseconds(_ ticks: Int64, perSecond timescale: Int64) -> Int64 {
    Int64(clamping: (Int128(ticks) * microseconds + Int128(timescale) - 1) / Int128(timescale))
  }

  /// The end of the longest track, in microseconds.
  private var end: Int64 {
    max(1, renditions.map { Self.microseconds($0.movie.end, perSecond: $0.movie.timescale) }.max() ?? 1)
  }

  /// The longest segment of all, in microseconds.
  private var bufferTime: Int64 {
    let longest = renditions.flatMap { rendition in
      rendition.segments.map { Self.microseconds(Int64($0.time.count), perSecond: rendition.movie.timescale) }
    }
    return max(1, longest.max() ?? 1)
  }

  /// The lowest rate, in bits a second, at which a player that begins with any segment has every segment in time, if it
  /// waits at first for what comes within the buffer time at this rate.
  private func bandwidth(of rendition: Rendition) -> Int64 {
    let (segments, timescale) = (rendition.segments, Int128(rendition.movie.timescale))
    var rate: Int128 = 1
    for first in segments.indices {
      var (bytes, ticks): (Int128, Int128) = (0, 0)
      for segment in segments[first...] {
        bytes += Int128(segment.bytes.count)
        // How much of the time that is given passes before this segment has to be there, in microticks.
        let time = Int128(bufferTime) * timescale + ticks * Self.microseconds
        rate = max(rate, (bytes * 8 * timescale * Self.microseconds + time - 1) / time)
        ticks += Int128(segment.time.count)
      }
    }
    return Int64(clamping: rate)
  }

  /// As `xs:duration` has it.
  private static func duration(_ microseconds: Int64) -> String {
    let fraction = String(microseconds % 1_000_000)
    var decimals = String(repeating: "0", count: 6 - fraction.count) + fraction
    while decimals.last == "0" { decimals.removeLast() }
    return "PT\(microseconds / 1_000_000)" + (decimals.isEmpty ? "" : ".\(decimals)") + "S"
  }
}
