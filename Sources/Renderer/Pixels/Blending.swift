import CKernels
import CompositionModel
import RenderTasks

extension Planes {
  /// Draws a picture with coverage on this whole frame of a film in a blend mode, at a weight.
  func blend(
    _ picture: BlendPicture, _ mode: BlendMode, weight: Int, in film: VideoTaskFormat
  ) throws(RenderError) {
    // The film's cell has the place of its chroma.
    let cell = film.cell
    let sampleBytes = format.bitDepth > 8 ? 2 : 1
    let (rect, chroma) = (picture.rect, picture.rect(of: .cb))
    var planes = sheaf_blended_planes(
      luma: luma.address(x: rect.x, y: rect.y, sampleBytes: sampleBytes),
      cb: cb.address(x: chroma.x, y: chroma.y, sampleBytes: sampleBytes),
      cr: cr.address(x: chroma.x, y: chroma.y, sampleBytes: sampleBytes), luma_stride: luma.stride,
      cb_stride: cb.stride, cr_stride: cr.stride, of_luma: picture.plane(.luma), of_cb: picture.plane(.cb),
      of_cr: picture.plane(.cr), coverage: picture.plane(.coverage), chroma_coverage: picture.plane(.chromaCoverage),
      picture_stride: picture.strideInBytes(.luma), picture_chroma_stride: picture.strideInBytes(.cb),
      width: Int32(rect.size.width), height: Int32(rect.size.height), shift_x: Int32(cell.horizontalShift),
      shift_y: Int32(cell.verticalShift), place_x: cell.site.across.kernelPlace, place_y: cell.site.down.kernelPlace,
      goes_on_left: rect.x > 0 ? 1 : 0, goes_on_right: rect.columns.upperBound < film.size.width ? 1 : 0,
      goes_on_top: rect.y > 0 ? 1 : 0, goes_on_bottom: rect.rows.upperBound < film.size.height ? 1 : 0)
    var space = YCbCrMatrix(film).codeSpace
    try SampleStorage.withFloats(sheaf_blend_scratch(planes.width)) {
      sheaf_blend(mode.kernel, &planes, &space, Int32(weight), $0)
    }
  }
}

extension BlendMode {
  fileprivate var kernel: sheaf_blend_mode {
    switch self {
    case .multiply: SHEAF_BLEND_MULTIPLY
    case .screen: SHEAF_BLEND_SCREEN
    case .overlay: SHEAF_BLEND_OVERLAY
    case .darken: SHEAF_BLEND_DARKEN
    case .lighten: SHEAF_BLEND_LIGHTEN
    case .add: SHEAF_BLEND_ADD
    case .difference: SHEAF_BLEND_DIFFERENCE
    case .softLight: SHEAF_BLEND_SOFT_LIGHT
    case .hardLight: SHEAF_BLEND_HARD_LIGHT
    case .colorDodge: SHEAF_BLEND_COLOR_DODGE
    case .colorBurn: SHEAF_BLEND_COLOR_BURN
    case .exclusion: SHEAF_BLEND_EXCLUSION
    case .subtract: SHEAF_BLEND_SUBTRACT
    }
  }
}
