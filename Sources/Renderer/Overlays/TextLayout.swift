import CPango
import CompositionModel
import Glibc

/// The text engine is used by one thread at a time: Cairo 1.16 does not lock the list of faces that it keeps for a
/// font's file, to which every object of the engine may add, and from which it may remove when it is freed.
enum TextEngine {
  // Safe: a mutex is made for several threads. It is never freed.
  private nonisolated(unsafe) static let mutex: UnsafeMutablePointer<pthread_mutex_t> = {
    let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    var attributes = pthread_mutexattr_t()
    pthread_mutexattr_init(&attributes)
    // What uses the engine frees objects that use it too.
    pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_RECURSIVE))
    pthread_mutex_init(mutex, &attributes)
    pthread_mutexattr_destroy(&attributes)
    return mutex
  }()

  /// `unlock` must follow in the same thread.
  static func lock() { pthread_mutex_lock(mutex) }

  static func unlock() { pthread_mutex_unlock(mutex) }
}

/// A text as Pango lays it out, with everything fixed that could differ from machine to machine besides the fonts:
/// glyphs are drawn without hinting and with grey antialiasing, and the language, with which the forms of Han
/// characters vary, is English.
final class TextLayout {
  /// Valid as long as this exists.
  let layout: OpaquePointer

  /// - Parameters:
  ///   - map: Where the fonts are taken from.
  ///   - size: The height of the em square in pixels.
  ///   - families: In place of the request's family: for parts of the text, in bytes of UTF-8, that follow each other.
  ///   - letterSpacing: Pixels between two characters.
  init(
    _ request: FontRequest, map: FontMap, size: Double, families: [(length: Int, family: String)] = [],
    letterSpacing: Double = 0
  ) throws(RenderError) {
    TextEngine.lock()
    defer { TextEngine.unlock() }
    guard let context = pango_font_map_create_context(map.map) else { throw TextLayout.noEngine }
    defer { sheaf_pango_release(UnsafeMutableRawPointer(context)) }
    TextLayout.fixOptions(of: context)
    guard let layout = pango_layout_new(context) else { throw TextLayout.noEngine }
    self.layout = layout
    pango_layout_set_text(layout, request.text, Int32(clamping: request.text.utf8.count))
    let font = pango_font_description_new()
    defer { pango_font_description_free(font) }
    pango_font_description_set_family(font, families.first?.family ?? request.font)
    pango_font_description_set_absolute_size(font, size * Double(PANGO_SCALE))
    pango_font_description_set_weight(font, request.isBold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL)
    pango_font_description_set_style(font, request.isItalic ? PANGO_STYLE_ITALIC : PANGO_STYLE_NORMAL)
    pango_layout_set_font_description(layout, font)
    pango_layout_set_wrap(layout, PANGO_WRAP_WORD_CHAR)
    let attributes = pango_attr_list_new()
    defer { pango_attr_list_unref(attributes) }
    // A broken word gets no hyphen, so that the text is shown as written.
    pango_attr_list_insert(attributes, pango_attr_insert_hyphens_new(0))
    if letterSpacing != 0 {
      pango_attr_list_insert(attributes, pango_attr_letter_spacing_new(Int32((letterSpacing * 1024).rounded())))
    }
    var start = 0
    for (length, family) in families {
      guard let attribute = pango_attr_family_new(family) else { throw TextLayout.noEngine }
      attribute.pointee.start_index = UInt32(clamping: start)
      attribute.pointee.end_index = UInt32(clamping: start + length)
      pango_attr_list_insert(attributes, attribute)
      start += length
    }
    pango_layout_set_attributes(layout, attributes)
  }

  deinit {
    TextEngine.lock()
    defer { TextEngine.unlock() }
    sheaf_pango_release(UnsafeMutableRawPointer(layout))
  }

  static var noEngine: RenderError {
    RenderError(.infrastructure, "the text engine (Pango) did not start")
  }

  private static func fixOptions(of context: OpaquePointer) {
    let options = cairo_font_options_create()
    defer { cairo_font_options_destroy(options) }
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY)
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE)
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF)
    pango_cairo_context_set_font_options(context, options)
    pango_cairo_context_set_resolution(context, 72)
    pango_context_set_round_glyph_positions(context, 0)
    pango_context_set_language(context, pango_language_from_string("en"))
  }
}

/// Pango's fonts by what is asked for. It keeps what it has looked up, so texts that take their fonts from the same
/// place share one.
final class FontMap {
  let map: UnsafeMutablePointer<PangoFontMap>

  /// - Parameter config: An `FcConfig`, where the fonts are taken from, and from nowhere else.
  init(_ config: OpaquePointer) throws(RenderError) {
    TextEngine.lock()
    defer { TextEngine.unlock() }
    FontMap.withoutSystemFonts
    guard let map = sheaf_font_map(config) else { throw TextLayout.noEngine }
    self.map = map
  }

  deinit {
    TextEngine.lock()
    defer { TextEngine.unlock() }
    sheaf_pango_release(UnsafeMutableRawPointer(map))
  }

  /// A new map loads fontconfig's own configuration unless there is a current one, which takes some 40 ms and is not
  /// used here.
  private static let withoutSystemFonts: Void = {
    if let config = FcConfigCreate() {
      FcConfigSetCurrent(config)
      FcConfigDestroy(config)
    }
  }()
}
