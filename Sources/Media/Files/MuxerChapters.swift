internal import CMedia
import CompositionModel

extension MuxerFile {
  /// Adds chapters, after all streams were added.
  /// - Parameter chapters: On the output's timeline, kept to the microsecond.
  func add(_ chapters: [Chapter]) throws(MediaError) {
    for (index, chapter) in chapters.enumerated() { try add(chapter, number: index + 1) }
  }

  private func add(_ chapter: Chapter, number: Int) throws(MediaError) {
    let (start, end) = try mapErrors(
      to: { (error: TimeError) in
        MediaError(
          .invalidRequest, operation: "writing", subject: name,
          message: "chapter \(number) has a time that cannot be stored in microseconds: \(error)")
      },
      { () throws(TimeError) in
        (
          try chapter.range.start.rescaled(to: 1_000_000).time.value,
          try chapter.range.end.rescaled(to: 1_000_000).time.value
        )
      })
    // libavformat frees it with the context, once it is in its list.
    let bytes = try allocated(av_mallocz(MemoryLayout<AVChapter>.size), "adding a chapter")
    let made = bytes.bindMemory(to: AVChapter.self, capacity: 1)
    made.pointee.id = Int64(number)
    made.pointee.time_base = AVRational(num: 1, den: 1_000_000)
    made.pointee.start = start
    made.pointee.end = end
    av_dict_set(&made.pointee.metadata, "title", chapter.title, 0)
    var count = Int32(clamping: context.pointee.nb_chapters)
    let result = av_dynarray_add_nofree(&context.pointee.chapters, &count, made)
    context.pointee.nb_chapters = UInt32(clamping: count)
    if result < 0 {
      av_dict_free(&made.pointee.metadata)
      av_free(bytes)
      try check(result, "adding a chapter", name)
    }
  }
}
