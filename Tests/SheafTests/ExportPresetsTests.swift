import Sheaf
import TestPrograms
import Testing

/// What a program can ask of the presets, without media files.
@Suite(.ownThreads) struct ExportPresetsTests {
  private func edit(_ names: AssetID...) throws -> Edit {
    var edit = Edit()
    for name in names {
      edit.assets[name] = "\(name).mov"
      let source = AssetSource(id: name, contents: try #require(DescribedMedia.all[name]))
      try edit.composition.insert(source.whole())
    }
    return edit
  }

  @Test func `the presets of an edit are those that it can meet`() throws {
    let film = try edit("shot")
    #expect(film.presets(compatibleWith: DescribedMedia.all) == ExportSettings.Preset.allCases)
    let music = try edit("music")
    #expect(music.presets(compatibleWith: DescribedMedia.all) == [.encode(.appleM4A), .passthrough])
    #expect(
      film.containers(compatibleWith: .encode(.appleProRes422LPCM), assets: DescribedMedia.all) == [.mov, .mkv, .mxf])
    #expect(film.containers(compatibleWith: .passthrough, assets: DescribedMedia.all) == [.mp4, .mov, .m4v, .mkv])
    #expect(
      music.containers(compatibleWith: .passthrough, assets: DescribedMedia.all) == [.m4a, .mp4, .mov, .m4v, .mkv])
    var louder = music
    try louder.audioMix.setVolume(0.5, of: louder.composition.tracks[0].id)
    #expect(louder.containers(compatibleWith: .passthrough, assets: DescribedMedia.all) == [])
  }

  @Test func `the suggested settings are those of the preset and export as it does`() throws {
    var edit = try edit("shot", "other")
    for preset in ExportSettings.Preset.allCases {
      let found = try edit.suggestedExport(with: preset, assets: DescribedMedia.all)
      var other = edit
      other.export = found.settings
      #expect(found.settings.preset == preset)
      #expect(other.validate(against: DescribedMedia.all, output: "film.\(found.container)") == [], "\(preset)")
      #expect(try other.suggestedExport(with: preset, assets: DescribedMedia.all) == found, "\(preset)")
    }
    edit.export.video = .settings(.init(keyframeInterval: 12))
    let small = try edit.suggestedExport(with: .encode(.lowQuality), assets: DescribedMedia.all)
    #expect(small.container == .mp4 && small.size == PixelSize(width: 480, height: 270))
    #expect(small.frameDuration == MediaTime(value: 1, timescale: 30))
    guard case .settings(let video) = small.settings.video, case .settings(let audio) = small.settings.audio else {
      Issue.record("no settings: \(small)")
      return
    }
    #expect(video.codec == .h264 && video.quality == 30 && video.keyframeInterval == 12)
    #expect(audio.codec == .aac && audio.bitRate == 64_000 && audio.channels == 2)
  }

  @Test func `the suggested container is the first that can have the edit`() throws {
    var film = try edit("shot")
    // MP4 comes first among the preset's containers, and has no PCM.
    film.export.audio = .settings(.init(codec: .pcm))
    let preset = ExportSettings.Preset.encode(.size1280x720)
    #expect(film.containers(compatibleWith: preset, assets: DescribedMedia.all) == [.mov, .mkv])
    #expect(try film.suggestedExport(with: preset, assets: DescribedMedia.all).container == .mov)
  }

  @Test func `what a program asks before an export`() throws {
    var edit = try edit("shot")
    let assets = DescribedMedia.all
    if edit.containers(compatibleWith: .passthrough, assets: assets).contains(.mp4) {
      edit.export.preset = .passthrough
    } else {
      edit.export = try edit.suggestedExport(with: .encode(.hevc1920x1080), assets: assets).settings
    }
    #expect(edit.export.preset == .passthrough)
  }

  @Test func `why a preset cannot be met is said`() throws {
    let music = try edit("music")
    let error = #expect(throws: DocumentError.self) {
      try music.suggestedExport(with: .encode(.size1280x720), assets: DescribedMedia.all)
    }
    #expect(error?.problems.map(\.pointer) == ["/export/preset"])
  }
}
