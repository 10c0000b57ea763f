import CompositionModel
import EditDocument

extension ExportSettings {
  /// Nil if a time is in frames.
  init?(_ export: Document.Export) {
    guard let video = export.video.converted({ Stream($0) { Video($0) } }),
      let range = export.timeRange.converted({ $0.inSeconds }), let outputs = export.outputs.all({ Output($0) }),
      let chapters = export.chapters.all({ chapter in chapter.at.inSeconds.map { Chapter(at: $0, title: chapter.title) }
      })
    else { return nil }
    self.init(
      path: export.to, video: video ?? .automatic,
      audio: export.audio.flatMap { Stream($0) { Audio($0) } } ?? .automatic,
      optimizeForNetworkUse: export.optimizeForNetworkUse ?? true, metadata: export.metadata, chapters: chapters)
    (preset, timeRange, self.outputs) = (export.preset, range, outputs)
    switch export.carryMetadata {
    case nil, .some(.none): break
    case .first: carriedMetadata = .first
    case .asset(let id): carriedMetadata = .asset(id)
    }
    switch export.artwork {
    case nil: break
    case .some(.none): artwork = Artwork.none
    case .asset(let id): artwork = .asset(id)
    }
    carried = export.carry.map { kinds in Document.Carried.allCases.filter(kinds.contains).map(Carried.init) }
    metadataFilter = export.metadataFilter.map { _ in .forSharing }
    manifests = export.manifests
    isSmart = export.smart ?? false
  }

  var written: Document.Export {
    var export = Document.Export(to: path)
    (export.preset, export.timeRange) = (preset, timeRange.map { Document.TimeRange($0) })
    (export.video, export.audio) = (video.written(\.written), audio.written(\.written))
    export.optimizeForNetworkUse = optimizeForNetworkUse ? nil : false
    export.metadata = metadata
    switch carriedMetadata {
    case nil: break
    case .first: export.carryMetadata = .first
    case .asset(let id): export.carryMetadata = .asset(id)
    }
    switch artwork {
    case nil: break
    case .some(.none): export.artwork = Document.Artwork.none
    case .asset(let id): export.artwork = .asset(id)
    }
    export.metadataFilter = metadataFilter.map { _ in .forSharing }
    export.manifests = manifests
    export.chapters = chapters.map { Document.Chapter(at: .seconds($0.start), $0.title) }
    export.outputs = outputs.map(\.written)
    export.carry = carried.map { Set($0.map(\.written)) }
    export.smart = isSmart ? true : nil
    return export
  }
}

extension ExportSettings.Carried {
  fileprivate init(_ kind: Document.Carried) {
    switch kind {
    case .tracks: self = .tracks
    case .chapters: self = .chapters
    case .timecode: self = .timecode
    case .attachments: self = .attachments
    case .metadata: self = .metadata
    }
  }

  fileprivate var written: Document.Carried {
    switch self {
    case .tracks: .tracks
    case .chapters: .chapters
    case .timecode: .timecode
    case .attachments: .attachments
    case .metadata: .metadata
    }
  }
}

extension ExportSettings.Stream {
  fileprivate init?<Written>(_ stream: Document.Stream<Written>, _ read: (Written) -> Settings?) {
    switch stream {
    case .automatic: self = .automatic
    case .none: self = .none
    case .settings(let settings):
      guard let settings = read(settings) else { return nil }
      self = .settings(settings)
    }
  }

  fileprivate func written<Written>(_ write: (Settings) -> Written) -> Document.Stream<Written>? {
    switch self {
    case .automatic: nil
    case .none: Document.Stream.none
    case .settings(let settings): .settings(write(settings))
    }
  }
}

extension ExportSettings.Output.Stream {
  fileprivate init?<Written>(_ stream: Document.Stream<Written>?, _ read: (Written) -> Settings?) {
    switch stream {
    case nil: self = .inherited
    case .automatic: self = .automatic
    case .some(.none): self = .none
    case .settings(let settings):
      guard let settings = read(settings) else { return nil }
      self = .settings(settings)
    }
  }

  fileprivate func written<Written>(_ write: (Settings) -> Written) -> Document.Stream<Written>? {
    switch self {
    case .inherited: nil
    case .automatic: .automatic
    case .none: Document.Stream.none
    case .settings(let settings): .settings(write(settings))
    }
  }
}

extension ExportSettings.Video {
  /// Nil if a time is in frames, or the distance of keyframes a time.
  fileprivate init?(_ video: Document.Video) {
    guard let buffer = video.bufferDuration.converted({ $0.inSeconds }),
      let interval = video.keyframeInterval.converted({ interval -> Int? in
        if case .frames(let count) = interval { count } else { nil }
      })
    else { return nil }
    self.init(
      codec: video.codec, quality: video.quality, bitRate: video.bitRate, preset: video.preset,
      profile: video.profile, level: video.level, maxBitRate: video.maxBitRate, bufferDuration: buffer,
      keyframeInterval: interval, pixelFormat: video.pixelFormat, rotation: video.rotation, sceneCuts: video.sceneCuts,
      language: video.language, title: video.title, pixelAspect: video.pixelAspect, cleanAperture: video.cleanAperture,
      dither: video.dither, plays: video.plays, targetQuality: video.targetQuality)
  }

  fileprivate var written: Document.Video {
    var video = Document.Video(codec: codec)
    (video.quality, video.bitRate, video.preset, video.profile) = (quality, bitRate, preset, profile)
    video.targetQuality = targetQuality
    (video.level, video.maxBitRate) = (level, maxBitRate)
    video.bufferDuration = bufferDuration.map { .seconds($0) }
    video.keyframeInterval = keyframeInterval.map { .frames($0) }
    (video.pixelFormat, video.rotation, video.sceneCuts) = (pixelFormat, rotation, sceneCuts)
    (video.language, video.title) = (language, title)
    (video.pixelAspect, video.cleanAperture) = (pixelAspect, cleanAperture)
    (video.dither, video.plays) = (dither, plays)
    return video
  }
}

extension ExportSettings.Audio {
  fileprivate init(_ audio: Document.Audio) {
    self.init(
      codec: audio.codec, bitRate: audio.bitRate, sampleRate: audio.sampleRate, channels: audio.channels,
      bitDepth: audio.bitDepth, language: audio.language, title: audio.title)
  }

  fileprivate var written: Document.Audio {
    var audio = Document.Audio(codec: codec)
    (audio.bitRate, audio.sampleRate, audio.channels) = (bitRate, sampleRate, channels)
    (audio.bitDepth, audio.language, audio.title) = (bitDepth, language, title)
    return audio
  }
}

extension ExportSettings.Output {
  fileprivate init?(_ output: Document.Output) {
    guard let video = Stream<ExportSettings.Video>(output.video, { ExportSettings.Video($0) }),
      let audio = Stream<ExportSettings.Audio>(output.audio, { ExportSettings.Audio($0) })
    else { return nil }
    self.init(
      name: output.name, container: output.container,
      size: output.size.map { .exactly($0) } ?? output.height.map { .height($0) }, video: video, audio: audio,
      optimizeForNetworkUse: output.optimizeForNetworkUse)
  }

  fileprivate var written: Document.Output {
    var output = Document.Output(name, container)
    switch size {
    case .height(let pixels): output.height = pixels
    case .exactly(let size): output.size = size
    case nil: break
    }
    (output.video, output.audio) = (video.written(\.written), audio.written(\.written))
    output.optimizeForNetworkUse = optimizeForNetworkUse
    return output
  }
}
