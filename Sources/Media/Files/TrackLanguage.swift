internal import CMedia

extension MuxerFile {
  /// States the language of a track.
  ///
  /// QuickTime has a list of languages of its own, and libavformat finds one in it by one name alone. Any other
  /// language it stores as not stated; in files of other kinds it stores the code as it is.
  /// - Parameter code: Of ISO 639-2.
  func state(language code: String, of stream: UnsafeMutablePointer<AVStream>) {
    let isQuickTime = context.pointee.oformat.map { String(cString: $0.pointee.name) } == "mov"
    let name = isQuickTime ? Self.quickTimeNames[code.lowercased()] ?? code : code
    av_dict_set(&stream.pointee.metadata, "language", name, 0)
  }

  /// libavformat's name of a language in QuickTime's list, by the codes of ISO 639-2 that differ from it.
  private static let quickTimeNames = [
    "bod": "tib", "cym": "wel", "cze": "ces", "deu": "ger", "ell": "gre", "eus": "baq", "fao": "fo ", "fre": "fra",
    "gle": "iri", "hrv": "hr ", "hye": "arm", "isl": "ice", "kat": "geo", "mkd": "mac", "msa": "may", "mya": "bur",
    "nld": "dut", "nob": "nor", "pan": "pa ", "rum": "ron", "slo": "slk", "sqi": "alb", "srp": "sr ", "swe": "sve",
    "zho": "chi",
  ]
}
