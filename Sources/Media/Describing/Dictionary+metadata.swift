internal import CMedia

extension [String: String] {
  /// libav*'s dictionary; text that is no UTF-8 is repaired, and very long values are left out.
  init(metadata: OpaquePointer?) {
    self.init()
    var entry: UnsafeMutablePointer<AVDictionaryEntry>?
    while let next = av_dict_get(metadata, "", entry, AV_DICT_IGNORE_SUFFIX) {
      let value = String(cString: next.pointee.value)
      if value.utf8.count <= 4096 { self[String(cString: next.pointee.key)] = value }
      entry = next
    }
  }
}
