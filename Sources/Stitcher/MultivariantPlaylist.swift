import CompositionModel
import Media
import RenderTasks

/// The playlist by which a player chooses among the renditions of a film (RFC 8216, section 4.3.4).
struct MultivariantPlaylist {
  /// The file of an output with its playlists.
  struct Rendition {
    var name: String
    var file: StitchedFile
    var movie: FragmentedMovie
    var segments: [MediaSegment]
    var media: MediaPlaylist
    /// Nil: it has no pictures.
    var keyframes: MediaPlaylist?

    /// As CODECS states it.
    var codec: String { movie.codec }
  }

  let package: StreamingPackage
  /// By the number of the output.
  let renditions: [Rendition]
  /// By the number of the subtitles.
  let subtitles: [MediaPlaylist]

  private static let subtitleGroup = "subtitles"

  var text: String {
    var lines = ["#EXTM3U", "#EXT-X-VERSION:7", "#EXT-X-INDEPENDENT-SEGMENTS"]
    if let title = package.metadata?["title"] {
      var attributes = Attributes("DATA-ID=\"com.apple.hls.title\"")
      attributes.add("VALUE", quoted: title)
      lines.append("#EXT-X-SESSION-DATA:\(attributes.text)")
    }
    var seen: Set<Int> = []
    // Without pictures, the sound is the variant itself.
    let sounds = package.variants.filter { $0.video != nil }.compactMap(\.audio).filter { seen.insert($0).inserted }
    lines += sounds.map(sound)
    lines += subtitles.indices.map(subtitle)
    for variant in package.variants { lines += self.variant(variant) }
    seen = []
    for number in package.variants.compactMap(\.video) where seen.insert(number).inserted {
      if let line = keyframes(renditions[number]) { lines.append(line) }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private func group(ofSound number: Int) -> String {
    let sounds = renditions.indices.filter { renditions[$0].file.video == nil }
    return sounds.count > 1 ? "audio-\((sounds.firstIndex(of: number) ?? 0) + 1)" : "audio"
  }

  private func sound(_ number: Int) -> String {
    let rendition = renditions[number]
    let label = rendition.file.audioLabel
    var attributes = Attributes("TYPE=AUDIO")
    attributes.add("GROUP-ID", quoted: group(ofSound: number))
    attributes.add("NAME", quoted: label?.title ?? "Audio")
    if let language = label?.language { attributes.add("LANGUAGE", quoted: LanguageTag.tag(of: language)) }
    attributes.add("DEFAULT", "YES")
    attributes.add("AUTOSELECT", "YES")
    if let audio = rendition.file.audio { attributes.add("CHANNELS", quoted: "\(audio.encoder.channels)") }
    attributes.add("URI", quoted: StreamingPackage.playlist(of: rendition.name))
    return "#EXT-X-MEDIA:\(attributes.text)"
  }

  private func subtitle(_ number: Int) -> String {
    let description = package.subtitles[number].description
    let traits = Set(description.characteristics ?? [])
    var attributes = Attributes("TYPE=SUBTITLES")
    attributes.add("GROUP-ID", quoted: Self.subtitleGroup)
    attributes.add("NAME", quoted: names[number])
    if let language = description.label.language { attributes.add("LANGUAGE", quoted: LanguageTag.tag(of: language)) }
    // Two of a group cannot be the default.
    let isDefault = description.isDefault && !package.subtitles[..<number].contains { $0.description.isDefault }
    attributes.add("DEFAULT", isDefault ? "YES" : "NO")
    attributes.add("AUTOSELECT", "YES")
    attributes.add("FORCED", traits.contains("forced") ? "YES" : "NO")
    if !traits.isDisjoint(with: ["hearing_impaired", "captions"]) {
      attributes.add(
        "CHARACTERISTICS",
        quoted: "public.accessibility.transcribes-spoken-dialog,public.accessibility.describes-music-and-sound")
    }
    attributes.add("URI", quoted: package.subtitleFiles(number).playlist)
    return "#EXT-X-MEDIA:\(attributes.text)"
  }

  /// The names of the subtitles, each once: their titles, or else their languages.
  private var names: [String] {
    var taken: Set<String> = []
    return package.subtitles.map { text in
      let label = text.description.label
      let wanted = label.title ?? label.language.map(LanguageTag.tag) ?? "Subtitles"
      var (name, number) = (wanted, 1)
      while !taken.insert(name).inserted {
        number += 1
        name = "\(wanted) \(number)"
      }
      return name
    }
  }

  private func variant(_ variant: StreamingPackage.Variant) -> [String] {
    let video = variant.video.map { renditions[$0] }
    let audio = variant.audio.map { renditions[$0] }
    let together = [video, audio].compactMap(\.self)
    guard let main = together.first else { return [] }
    let shown = video == nil ? [] : subtitles
    let peak = together.reduce(0) { $0 + $1.media.peakBitRate } + (shown.map(\.peakBitRate).max() ?? 0)
    let average = together.reduce(0) { $0 + $1.media.averageBitRate } + (shown.map(\.averageBitRate).max() ?? 0)
    var attributes = Attributes("BANDWIDTH=\(Self.whole(peak))")
    attributes.add("AVERAGE-BANDWIDTH", "\(Self.whole(average))")
    attributes.add("CODECS", quoted: together.map(\.codec).joined(separator: ","))
    if let video { attributes.addPictures(video.file) }
    if video != nil, let number = variant.audio { attributes.add("AUDIO", quoted: group(ofSound: number)) }
    if !shown.isEmpty { attributes.add("SUBTITLES", quoted: Self.subtitleGroup) }
    if video != nil { attributes.add("CLOSED-CAPTIONS", "NONE") }
    return ["#EXT-X-STREAM-INF:\(attributes.text)", StreamingPackage.playlist(of: main.name)]
  }

  private func keyframes(_ rendition: Rendition) -> String? {
    guard let keyframes = rendition.keyframes else { return nil }
    var attributes = Attributes("BANDWIDTH=\(Self.whole(keyframes.peakBitRate))")
    attributes.add("AVERAGE-BANDWIDTH", "\(Self.whole(keyframes.averageBitRate))")
    attributes.add("CODECS", quoted: rendition.codec)
    attributes.addPictures(rendition.file, hasRate: false)
    attributes.add("URI", quoted: StreamingPackage.keyframePlaylist(of: rendition.name))
    return "#EXT-X-I-FRAME-STREAM-INF:\(attributes.text)"
  }

  /// Bits a second, rounded up.
  private static func whole(_ rate: Double) -> Int64 { Int64(rate.rounded(.up)) }
}

/// The attributes of a tag.
private struct Attributes {
  private(set) var text: String

  init(_ first: String) { text = first }

  mutating func add(_ name: String, _ value: String) { text += ",\(name)=\(value)" }

  /// A string has neither quotation marks nor the ends of lines.
  mutating func add(_ name: String, quoted value: String) {
    let plain = value.map { $0.isNewline ? " " : $0 == "\"" ? "'" : $0 }
    add(name, "\"\(String(plain))\"")
  }

  /// The size at which pictures are shown, their rate, and their dynamic range.
  mutating func addPictures(_ file: StitchedFile, hasRate: Bool = true) {
    guard let video = file.video else { return }
    let (size, aspect) = (video.format.size, video.encoder.pixelAspect ?? .square)
    let width = Int((Double(size.width * aspect.horizontal) / Double(aspect.vertical)).rounded())
    add("RESOLUTION", "\(width)x\(size.height)")
    if hasRate { add("FRAME-RATE", Self.rate(video.format.frameDuration)) }
    add("VIDEO-RANGE", Self.range(video.encoder.colour.transfer))
  }

  /// Frames a second, to the third decimal.
  private static func rate(_ frameDuration: MediaTime) -> String {
    let (value, timescale) = (Int128(max(1, frameDuration.value)), Int128(frameDuration.timescale))
    let thousandths = (timescale * 2000 + value) / (value * 2)
    let fraction = "\(thousandths % 1000)"
    return "\(thousandths / 1000)." + String(repeating: "0", count: 3 - fraction.count) + fraction
  }

  private static func range(_ transfer: String?) -> String {
    switch transfer {
    case "smpte2084": "PQ"
    case "arib-std-b67": "HLG"
    default: "SDR"
    }
  }
}
