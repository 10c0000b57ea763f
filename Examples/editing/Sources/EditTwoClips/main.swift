// Two clips with a dissolve, music that grows softer under it, and a watermark.
//
//   editing FIRST SECOND MUSIC LOGO OUTPUT.mp4
//
// It renders on this machine, or on the farm at SHEAF_COORDINATOR, to the same bytes.

import Foundation
import Sheaf

guard CommandLine.arguments.count == 6 else { fatalError("usage: editing FIRST SECOND MUSIC LOGO OUTPUT.mp4") }
let paths = CommandLine.arguments.dropFirst().map { $0 }

var edit = Edit()
let first = edit.add(try await Asset(path: paths[0]).load())
let second = edit.add(try await Asset(path: paths[1]).load())
let music = edit.add(try await Asset(path: paths[2]).load())
let logo = edit.add(try await Asset(path: paths[3]).load())

// Two seconds of each clip, on two tracks, which overlap for a second.
let second1 = MediaTime(seconds: 1)
let trackA = try edit.composition.addTrack(.video, id: "A")
let trackB = try edit.composition.addTrack(.video, id: "B")
let bed = try edit.composition.addTrack(.audio, id: "music")
try edit.composition.editTrack(trackA) { track in
  try track.insert(first.range(from: .zero, to: MediaTime(seconds: 2)))
}
try edit.composition.editTrack(trackB) { track in
  try track.insert(second.range(from: .zero, to: MediaTime(seconds: 2)), at: second1)
}
try edit.composition.editTrack(bed) { track in
  try track.insert(music.range(from: .zero, to: MediaTime(seconds: 3)))
}

// The instructions tile the film: A, the dissolve, B.
let overlap = try MediaTimeRange(start: second1, end: MediaTime(seconds: 2))
var fading = VideoComposition.LayerInstruction(track: trackA, fit: .cover)
fading.setOpacityRamp(from: 1, to: 0, over: overlap)
let below = VideoComposition.LayerInstruction(track: trackB, fit: .cover)
edit.videoComposition.renderSize = PixelSize(width: 640, height: 360)
edit.videoComposition.instructions = [
  .init(
    timeRange: try MediaTimeRange(start: .zero, end: overlap.start),
    layers: [.init(track: trackA, fit: .cover)]),
  .init(timeRange: overlap, layers: [fading, below]),
  .init(timeRange: try MediaTimeRange(start: overlap.end, end: edit.composition.duration), layers: [below]),
]

// The watermark, and a title during the dissolve.
var mark = VideoComposition.Overlay(
  .image(logo.id, width: .percent(12)), place: .anchor(.bottomRight, inset: .percent(3)), opacity: 0.8)
mark.opacityRamps.addRamp(from: 0, to: 1, over: try MediaTimeRange(start: .zero, duration: second1))
var title = StyledText(text: "Two clips", size: 48)
title.outline = TextOutline(width: 3)
edit.videoComposition.overlays = [mark, .init(.text(title), timeRange: overlap)]

// The music starts at 0.8 and falls to 0.2.
try edit.audioMix.setVolume(0.8, of: bed)
edit.audioMix.setVolumeRamp(of: bed, from: 0.8, to: 0.2, over: overlap)

let environment = ProcessInfo.processInfo.environment
let place: ExportSession.Place =
  if let address = environment["SHEAF_COORDINATOR"] {
    .farm(try Farm(address, token: environment["SHEAF_TOKEN"] ?? ""))
  } else {
    .thisMachine
  }
let session = ExportSession(edit, to: URL(fileURLWithPath: paths[4]), on: place)
let export = Task { try await session.export() }
for await progress in session.progress { print("\(Int(progress.fraction * 100)) %") }
let film = try await export.value
print("\(film.frames) frames, \(film.bytes) bytes, SHA-256 \(film.digest)")
