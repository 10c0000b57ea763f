extension Sources {
  // MARK: Sound

  static let sounds: [Source] = {
    func sound(
      _ name: String, _ codec: [String], rate: Int = 48000, channels: Int = 2, video: [String]? = nil,
      isQuick: Bool = false, remark: String? = nil
    ) -> Source {
      let container = String(name.split(separator: ".").last ?? "")
      let picture = video.map { Step.picture("64x48", seconds: 2) + $0 } ?? []
      let inputs = Step.noise(rate: rate, channels: channels)
      return Source(
        name: "sound-\(name)", steps: [.ffmpeg(inputs + picture + codec, to: container)], isQuick: isQuick,
        remark: remark)
    }
    let aac = ["-c:a", "aac"]
    let mp3 = ["-c:a", "libmp3lame"]
    let vorbis = ["-c:a", "libvorbis"]
    let opus = ["-c:a", "libopus"]
    let flac = ["-c:a", "flac"]
    let alac = ["-c:a", "alac"]
    let mpeg2 = ["-c:v", "mpeg2video"]
    let dvd = ["-c:a", "pcm_dvd"]
    func pcm(_ name: String) -> [String] { ["-c:a", "pcm_\(name)"] }
    let uncompressed: [Source] = [
      sound("s16.wav", pcm("s16le")), sound("s24.wav", pcm("s24le"), isQuick: true), sound("u8.wav", pcm("u8")),
      sound("f32.wav", pcm("f32le")), sound("f64.wav", pcm("f64le")), sound("s32.wav", pcm("s32le"), rate: 96000),
      sound("alaw.wav", pcm("alaw"), rate: 8000, channels: 1),
      sound("mulaw.wav", pcm("mulaw"), rate: 8000, channels: 1),
      sound("six.wav", pcm("s16le"), channels: 6, isQuick: true), sound("eight.wav", pcm("s24le"), channels: 8),
      sound("s16.aiff", pcm("s16be")), sound("s24.aiff", pcm("s24be"), rate: 44100), sound("f32.caf", pcm("f32le")),
      sound("s16.mov", pcm("s16le"), rate: 44100, isQuick: true), sound("f32.mov", pcm("f32le")),
      sound("s16.mkv", pcm("s16le"), rate: 44100, isQuick: true),
      sound("s24.mkv", pcm("s24le"), rate: 96000),
      sound("s16.avi", pcm("s16le"), rate: 44100, video: ["-c:v", "mpeg4"]),
      sound("s16.au", pcm("s16be")), sound("s16.w64", pcm("s16le")), sound("s16.nut", pcm("s16le")),
      sound("bluray.ts", pcm("bluray"), video: mpeg2),
      sound("dvd.vob", dvd, isQuick: true), sound("dvd-24.vob", dvd + ["-sample_fmt", "s32"], video: mpeg2),
      sound("dvd-96.vob", dvd + ["-sample_fmt", "s16"], rate: 96000, video: mpeg2, isQuick: true),
      sound("dvd-six.vob", dvd + ["-sample_fmt", "s16"], channels: 6, video: mpeg2),
      sound("s302m.ts", ["-c:a", "s302m", "-strict", "-2"]),
    ]
    let lossless: [Source] = [
      sound("flac.flac", flac, isQuick: true), sound("flac-24.flac", flac + ["-sample_fmt", "s32"], rate: 96000),
      sound("flac.oga", flac),
      sound("flac.mkv", flac, rate: 44100, video: x264, isQuick: true),
      sound("flac.mp4", flac + ["-strict", "-2"], rate: 44100),
      sound("flac-fragmented.mp4", flac + fragmented + ["-strict", "-2"], rate: 44100),
      sound("alac.m4a", alac, rate: 44100, isQuick: true), sound("alac.caf", alac, rate: 44100),
      sound("alac.mkv", alac, rate: 44100),
      sound("tta.tta", ["-c:a", "tta"]), sound("wavpack.wv", ["-c:a", "wavpack"]),
      sound("truehd.mkv", ["-c:a", "truehd", "-strict", "-2"]),
    ]
    let lossy: [Source] = [
      sound("aac.m4a", aac, isQuick: true), sound("aac-mono.m4a", aac, rate: 22050, channels: 1),
      sound("aac-six.m4a", aac, channels: 6),
      sound("aac.mp4", aac, rate: 44100, video: x264), sound("aac-fragmented.mp4", aac + fragmented, isQuick: true),
      sound(
        "aac-fragmented-video.mp4", aac + fragmented, video: x264,
        remark: "its second packet is stored with a later time than the end of the first, and the pause is silence"),
      sound("aac.mkv", aac, isQuick: true), sound("aac-video.mkv", aac, rate: 44100, video: x264),
      sound("aac.aac", aac, isQuick: true), sound("aac.ts", aac, video: x264),
      sound("aac.flv", aac, rate: 44100), sound("aac.mov", aac, rate: 32000), sound("aac.3gp", aac, rate: 44100),
      sound("aac.avi", aac, video: ["-c:v", "mpeg4"]),
      sound("mp3.mp3", mp3, rate: 44100, isQuick: true),
      sound("mp3-no-xing.mp3", mp3 + ["-write_xing", "0"], rate: 44100, isQuick: true),
      sound("mp3-mono.mp3", mp3, rate: 22050, channels: 1),
      sound("mp3.mkv", mp3), sound("mp3.avi", mp3, rate: 44100, video: ["-c:v", "mpeg4"]), sound("mp3.mp4", mp3),
      sound("mp3.flv", mp3, rate: 44100),
      sound("mp2.mp2", ["-c:a", "mp2"]),
      sound("mp2.mpg", ["-c:a", "mp2"], rate: 44100, video: ["-c:v", "mpeg1video"]),
      sound("mp2.ts", ["-c:a", "mp2"], isQuick: true),
      sound("ac3.ac3", ["-c:a", "ac3"], isQuick: true), sound("ac3.ts", ["-c:a", "ac3"], video: mpeg2),
      sound("ac3.mkv", ["-c:a", "ac3"], channels: 6), sound("ac3.vob", ["-c:a", "ac3"], video: mpeg2),
      sound("eac3.eac3", ["-c:a", "eac3"]), sound("eac3.mp4", ["-c:a", "eac3"]),
      sound("dts.dts", ["-c:a", "dca", "-strict", "-2"]), sound("dts.mkv", ["-c:a", "dca", "-strict", "-2"]),
      sound("vorbis.ogg", vorbis, rate: 44100, isQuick: true), sound("vorbis.mkv", vorbis, rate: 44100, isQuick: true),
      sound("vorbis.webm", vorbis), sound("vorbis.ogv", vorbis, video: ["-c:v", "libtheora"]),
      sound("vorbis-mono.ogg", vorbis, rate: 22050, channels: 1), sound("opus.opus", opus, isQuick: true),
      sound("opus.webm", opus, isQuick: true), sound("opus.mkv", opus, video: x264),
      sound("opus.ogv", opus, video: ["-c:v", "libtheora"]), sound("opus.mp4", opus),
      sound("opus-fragmented.mp4", opus + fragmented), sound("opus.ts", opus),
      sound("wma1.asf", ["-c:a", "wmav1"], rate: 44100),
      sound("wma2.asf", ["-c:a", "wmav2"], rate: 44100, isQuick: true),
      sound("wma2.mkv", ["-c:a", "wmav2"], video: x264),
      sound("ms.wav", ["-c:a", "adpcm_ms"], isQuick: true), sound("ima.wav", ["-c:a", "adpcm_ima_wav"]),
      sound("swf.flv", ["-c:a", "adpcm_swf"], rate: 44100), sound("yamaha.wav", ["-c:a", "adpcm_yamaha"]),
      sound("qt.mov", ["-c:a", "adpcm_ima_qt"], rate: 44100),
      sound("gsm.wav", ["-c:a", "libgsm_ms"], rate: 8000, channels: 1),
      sound("speex.ogg", ["-c:a", "libspeex"], rate: 16000, channels: 1),
      sound(
        "real.rm", ["-c:a", "real_144"], rate: 8000, channels: 1,
        remark: "all packets have the time 0, and samples that overlap earlier ones are left out"),
      sound("nelly.flv", ["-c:a", "nellymoser"], rate: 22050, channels: 1),
      sound("g726.wav", ["-c:a", "g726"], rate: 8000, channels: 1),
    ]
    return [uncompressed, lossless, lossy].flatMap(\.self)
  }()
}
