import CompositionModel

/// A slow compositor in double precision, written from the rules of `docs/document.md` and `docs/architecture.md` and
/// sharing no code with the renderer. It draws layers over a background, bottom first. As the renderer's working format
/// is that of the output, an opaque picture is rounded when it has been placed, and the frame after each layer.
struct ReferenceCompositor {
  /// Samples of one plane.
  struct Plane {
    var width: Int
    var height: Int
    var samples: [Double]

    init(_ width: Int, _ height: Int, _ samples: [Double]? = nil) {
      self.width = width
      self.height = height
      self.samples = samples ?? [Double](repeating: 0, count: width * height)
    }
  }

  /// Luma, Cb and Cr; a picture with alpha has them multiplied by coverage and without subsampling, and its coverage.
  struct Picture {
    var planes: [Plane]
    var hasAlpha = false
  }

  struct Layer {
    var picture: Picture
    var fit = Fit.contain
    var crop: [Double]?
    var frame: [Double]?
    var matrix: [Double]?
    /// Degrees clockwise, scale (x, y), translation (x, y), anchor (x, y) in pixels of the film.
    var turn: [Double]?
    var opacity = 1.0
    var blendMode: BlendMode?
    /// 0...1 at each pixel, stretched over the layer's rectangle.
    var mask: Plane?
    /// The filters of the fitted picture, before it is turned.
    var filters: [Filter<Double>] = []
  }

  var width: Int
  var height: Int
  /// Pixels that share a chroma sample.
  var across: Int
  var down: Int
  var depth: Int
  /// Where a chroma sample lies in its cell, in pixels, along axes that are subsampled.
  var place = (x: 0.5, y: 1.0)
  var red = 0.2126
  var blue = 0.0722

  var highest: Double { Double(1 << depth) - 1 }
  private var step: Double { Double(1 << (depth - 8)) }
  private var green: Double { 1 - red - blue }
  private var site: (x: Double, y: Double) { (across > 1 ? place.x : 0.5, down > 1 ? place.y : 0.5) }

  /// Codes of a colour of 0...1.
  func codes(_ r: Double, _ g: Double, _ b: Double) -> [Double] {
    let y = red * r + green * g + blue * b
    return [
      (16 + 219 * y) * step, (128 + 112 * (b - y) / (1 - blue)) * step, (128 + 112 * (r - y) / (1 - red)) * step,
    ]
  }

  private func rgb(_ codes: [Double]) -> [Double] {
    let y = (codes[0] / step - 16) / 219
    let b = y + (codes[1] / step - 128) / 112 * (1 - blue)
    let r = y + (codes[2] / step - 128) / 112 * (1 - red)
    return [r, (y - red * r - blue * b) / green, b].map { min(1, max(0, $0)) }
  }

  /// The frame's planes, rounded.
  func frame(_ layers: [Layer], background: [Double]) -> [Plane] {
    let (chromaWidth, chromaHeight) = ((width + across - 1) / across, (height + down - 1) / down)
    var planes = [
      Plane(width, height), Plane(chromaWidth, chromaHeight), Plane(chromaWidth, chromaHeight),
    ]
    for (index, code) in background.enumerated() {
      for at in planes[index].samples.indices { planes[index].samples[at] = code }
    }
    for layer in layers {
      draw(layer, on: &planes)
      for index in planes.indices { round(&planes[index]) }
    }
    return planes
  }

  private func round(_ plane: inout Plane) {
    for at in plane.samples.indices { plane.samples[at] = min(highest, max(0, plane.samples[at].rounded())) }
  }

  // MARK: Geometry

  /// The matrix to the film (a, b, c, d, tx, ty), and the rectangle of the picture that is drawn.
  private func place(
    _ layer: Layer, _ size: (Double, Double)
  ) -> (matrix: [Double], crop: [Double], visible: [Double], rectangle: [Double], scale: [Double]) {
    var crop = layer.crop ?? [0, 0, size.0, size.1]
    let (right, bottom) = (min(size.0, crop[0] + crop[2]), min(size.1, crop[1] + crop[3]))
    (crop[0], crop[1]) = (max(0, crop[0]), max(0, crop[1]))
    (crop[2], crop[3]) = (right - crop[0], bottom - crop[1])
    if let matrix = layer.matrix {
      let rectangle = [
        matrix[0] * size.0, matrix[1] * size.0, matrix[2] * size.1, matrix[3] * size.1, matrix[4], matrix[5],
      ]
      return (matrix, crop, crop, rectangle, [1, 1])
    }
    let frame = layer.frame ?? [0, 0, Double(width), Double(height)]
    let (x, y) = (frame[2] / crop[2], frame[3] / crop[3])
    var scale = (x, y)
    switch layer.fit {
    case .contain, .blur: scale = (min(x, y), min(x, y))
    case .cover: scale = (max(x, y), max(x, y))
    case .fill: break
    case .none: scale = (1, 1)
    }
    var (left, top) = ((frame[2] - crop[2] * scale.0) / 2, (frame[3] - crop[3] * scale.1) / 2)
    if layer.fit == .none {
      left = (left / Double(across)).rounded(.down) * Double(across)
      top = (top / Double(down)).rounded(.down) * Double(down)
    }
    var visible = crop
    if layer.fit == .cover || layer.fit == .none {
      let x0 = max(0, -left / scale.0)
      let x1 = min(crop[2], (frame[2] - left) / scale.0)
      let y0 = max(0, -top / scale.1)
      let y1 = min(crop[3], (frame[3] - top) / scale.1)
      visible = [crop[0] + x0, crop[1] + y0, x1 - x0, y1 - y0]
    }
    if layer.fit == .blur {
      visible = [
        crop[0] - left / scale.0, crop[1] - top / scale.1, frame[2] / scale.0, frame[3] / scale.1,
      ]
    }
    var matrix = [
      scale.0, 0, 0, scale.1, frame[0] + left - crop[0] * scale.0, frame[1] + top - crop[1] * scale.1,
    ]
    // From the square of side 1.
    var rectangle = [frame[2], 0, 0, frame[3], frame[0], frame[1]]
    if let turn = layer.turn {
      let angle = turn[0] * .pi / 180
      let (cosine, sine) = (Self.cosine(angle), Self.cosine(angle - .pi / 2))
      // About the anchor: scaled, turned clockwise (y points down), moved.
      let (a, b, c, d) = (cosine * turn[1], sine * turn[1], -sine * turn[2], cosine * turn[2])
      func turned(_ matrix: [Double]) -> [Double] {
        let (x, y) = (matrix[4] - turn[5], matrix[5] - turn[6])
        return [
          a * matrix[0], b * matrix[0], c * matrix[3], d * matrix[3], a * x + c * y + turn[5] + turn[3],
          b * x + d * y + turn[6] + turn[4],
        ]
      }
      (matrix, rectangle) = (turned(matrix), turned(rectangle))
    }
    return (matrix, crop, visible, rectangle, [scale.0, scale.1])
  }

  private static func cosine(_ angle: Double) -> Double {
    var (sum, term) = (1.0, 1.0)
    for n in 1..<40 {
      term *= -angle * angle / Double((2 * n - 1) * (2 * n))
      sum += term
    }
    // A quarter turn is one exactly.
    return abs(sum) < 1e-12 ? 0 : sum
  }

  // MARK: Sampling

  private static func cubic(_ x: Double) -> Double {
    let x = abs(x)
    if x < 1 { return 1.4 * x * x * x - 2.4 * x * x + 1 }
    return x < 2 ? -0.6 * (x * x * x - 5 * x * x + 8 * x - 4) : 0
  }

  /// Samples at whole multiples of a step along rows, and down columns.
  private static func filtered(
    _ plane: Plane, _ width: Int, _ height: Int, x: (start: Double, step: Double), y: (start: Double, step: Double)
  ) -> Plane {
    func weights(_ count: Int, _ size: Int, _ axis: (start: Double, step: Double)) -> [[(Int, Double)]] {
      let wide = max(1, abs(axis.step))
      return (0..<count).map { i in
        let centre = axis.start + axis.step * Double(i)
        var all: [(Int, Double)] = []
        var sum = 0.0
        for k in Int((centre - 2 * wide).rounded(.down))...Int((centre + 2 * wide).rounded(.up)) {
          let weight = cubic((Double(k) - centre) / wide)
          if weight == 0 { continue }
          all.append((min(size - 1, max(0, k)), weight))
          sum += weight
        }
        return all.map { ($0.0, $0.1 / sum) }
      }
    }
    let (across, down) = (weights(width, plane.width, x), weights(height, plane.height, y))
    var middle = Plane(width, plane.height)
    plane.samples.withUnsafeBufferPointer { from in
      middle.samples.withUnsafeMutableBufferPointer { to in
        for row in 0..<plane.height {
          for i in 0..<width {
            var sum = 0.0
            for (k, weight) in across[i] { sum += from[row * plane.width + k] * weight }
            to[row * width + i] = sum
          }
        }
      }
    }
    var result = Plane(width, height)
    middle.samples.withUnsafeBufferPointer { from in
      result.samples.withUnsafeMutableBufferPointer { to in
        for j in 0..<height {
          for i in 0..<width {
            var sum = 0.0
            for (k, weight) in down[j] { sum += from[k * width + i] * weight }
            to[j * width + i] = sum
          }
        }
      }
    }
    return result
  }

  /// The picture's plane at each sample of the film's plane.
  private func sampled(
    _ plane: Plane, _ matrix: [Double], _ crop: [Double], across: Int, down: Int, to size: (Int, Int), limit: Double
  ) -> Plane {
    let (fx, fy) = (Double(across), Double(down))
    let site = (across > 1 ? place.x : 0.5, down > 1 ? place.y : 0.5)
    let x0 = Int(crop[0].rounded(.down)) / across
    let y0 = Int(crop[1].rounded(.down)) / down
    let x1 = min(plane.width, (Int((crop[0] + crop[2]).rounded(.up)) + across - 1) / across)
    let y1 = min(plane.height, (Int((crop[1] + crop[3]).rounded(.up)) + down - 1) / down)
    var part = Plane(x1 - x0, y1 - y0)
    for y in y0..<y1 {
      for x in x0..<x1 { part.samples[(y - y0) * part.width + x - x0] = plane.samples[y * plane.width + x] }
    }
    let determinant = matrix[0] * matrix[3] - matrix[1] * matrix[2]
    let (a, b, c, d) = (
      matrix[3] / determinant, -matrix[1] / determinant, -matrix[2] / determinant, matrix[0] / determinant
    )
    func source(_ i: Double, _ j: Double) -> (Double, Double) {
      let (x, y) = (i * fx + site.0 - matrix[4], j * fy + site.1 - matrix[5])
      return ((a * x + c * y - site.0) / fx - Double(x0), (b * x + d * y - site.1) / fy - Double(y0))
    }
    let origin = source(0, 0)
    var result: Plane
    if matrix[1] == 0, matrix[2] == 0 {
      result = Self.filtered(part, size.0, size.1, x: (origin.0, a), y: (origin.1, d))
    } else {
      // Made smaller before it is turned, along its own sides.
      let sideX = (matrix[0] * matrix[0] + (matrix[1] * fx / fy) * (matrix[1] * fx / fy)).squareRoot()
      let sideY = ((matrix[2] * fy / fx) * (matrix[2] * fy / fx) + matrix[3] * matrix[3]).squareRoot()
      let width = sideX < 1 ? max(1, Int((Double(part.width) * sideX).rounded(.up))) : part.width
      let height = sideY < 1 ? max(1, Int((Double(part.height) * sideY).rounded(.up))) : part.height
      let (shrinkX, shrinkY) = (Double(part.width) / Double(width), Double(part.height) / Double(height))
      if width != part.width || height != part.height {
        part = Self.filtered(
          part, width, height, x: (shrinkX / 2 - 0.5, shrinkX), y: (shrinkY / 2 - 0.5, shrinkY))
        part.samples = part.samples.map { min(limit, max(0, $0)) }
      }
      result = Plane(size.0, size.1)
      part.samples.withUnsafeBufferPointer { from in
        for j in 0..<size.1 {
          for i in 0..<size.0 {
            let (x, y) = source(Double(i), Double(j))
            let (u, v) = (
              min(Double(width), max(-1, (x + 0.5) / shrinkX - 0.5)),
              min(Double(height), max(-1, (y + 0.5) / shrinkY - 0.5))
            )
            let (left, top) = (Int(u.rounded(.down)), Int(v.rounded(.down)))
            var sum = 0.0
            for n in (top - 1)...(top + 2) {
              let row = min(height - 1, max(0, n)) * width
              var of = 0.0
              for m in (left - 1)...(left + 2) {
                of += from[row + min(width - 1, max(0, m))] * Self.cubic(Double(m) - u)
              }
              sum += of * Self.cubic(Double(n) - v)
            }
            result.samples[j * size.0 + i] = sum
          }
        }
      }
    }
    result.samples = result.samples.map { min(limit, max(0, $0)) }
    return result
  }

  /// How much of each pixel is within the picture.
  private func coverage(_ matrix: [Double], _ visible: [Double]) -> Plane {
    let (right, bottom) = (visible[0] + visible[2], visible[1] + visible[3])
    let corners = [(visible[0], visible[1]), (right, visible[1]), (right, bottom), (visible[0], bottom)].map {
      (matrix[0] * $0.0 + matrix[2] * $0.1 + matrix[4], matrix[1] * $0.0 + matrix[3] * $0.1 + matrix[5])
    }
    /// The part of a polygon where a·x + b·y <= c.
    func half(_ polygon: [(Double, Double)], _ a: Double, _ b: Double, _ c: Double) -> [(Double, Double)] {
      var kept: [(Double, Double)] = []
      for index in polygon.indices {
        let (p, q) = (polygon[index], polygon[(index + 1) % polygon.count])
        let (ofP, ofQ) = (a * p.0 + b * p.1 - c, a * q.0 + b * q.1 - c)
        if ofP <= 0 { kept.append(p) }
        if ofP * ofQ < 0 {
          let t = ofP / (ofP - ofQ)
          kept.append((p.0 + (q.0 - p.0) * t, p.1 + (q.1 - p.1) * t))
        }
      }
      return kept
    }
    var plane = Plane(width, height)
    for y in 0..<height {
      let strip = half(half(corners, 0, -1, -Double(y)), 0, 1, Double(y + 1))
      if strip.count < 3 { continue }
      for x in 0..<width {
        let square = half(half(strip, -1, 0, -Double(x)), 1, 0, Double(x + 1))
        if square.count < 3 { continue }
        var area = 0.0
        for index in square.indices {
          let (p, q) = (square[index], square[(index + 1) % square.count])
          area += (p.0 - Double(x)) * (q.1 - Double(y)) - (q.0 - Double(x)) * (p.1 - Double(y))
        }
        plane.samples[y * width + x] = abs(area) / 2
      }
    }
    return plane
  }

  // MARK: Filters

  /// Replaces a picture by its crop, filtered. Returns where that starts in the picture.
  private func filter(
    _ picture: inout Picture, _ filters: [Filter<Double>], _ crop: [Double], _ visible: [Double], _ scale: [Double],
    isOverBlur: Bool
  ) -> [Double] {
    let (cellX, cellY) = picture.hasAlpha ? (1, 1) : (across, down)
    func cells(_ start: Double, _ length: Double, _ cell: Int, _ limit: Int?) -> (Int, Int) {
      let first = Int((start / Double(cell)).rounded(.down)) * cell
      let end = Int(((start + length) / Double(cell)).rounded(.up)) * cell
      return (first, min(limit ?? end, end) - first)
    }
    let luma = picture.planes[0]
    let (x, width) = cells(crop[0], crop[2], cellX, luma.width)
    let (y, height) = cells(crop[1], crop[3], cellY, luma.height)
    func step(_ plane: Int) -> (Int, Int) { plane == 1 || plane == 2 ? (cellX, cellY) : (1, 1) }
    func part(_ plane: Int) -> Plane {
      let (dx, dy) = step(plane)
      let from = picture.planes[plane]
      var part = Plane((width + dx - 1) / dx, (height + dy - 1) / dy)
      for row in 0..<part.height {
        for column in 0..<part.width {
          part.samples[row * part.width + column] = from.samples[(y / dy + row) * from.width + x / dx + column]
        }
      }
      return part
    }
    picture.planes = picture.planes.indices.map(part)
    var origin = [Double(x), Double(y)]
    if isOverBlur {
      let (left, outerWidth) = cells(visible[0], visible[2], cellX, nil)
      let (top, outerHeight) = cells(visible[1], visible[3], cellY, nil)
      let front = picture
      let enlarged = max(Double(outerWidth) / Double(width), Double(outerHeight) / Double(height))
      for plane in 0..<3 {
        let (dx, dy) = step(plane)
        func axis(_ outer: Int, _ side: Int, _ step: Int, _ site: Double) -> (Double, Double) {
          // The middle of the picture, enlarged.
          let used = Double(outer) / enlarged
          return (((Double(side) - used) / 2 + site / enlarged - site) / Double(step), 1 / enlarged)
        }
        picture.planes[plane] = Self.filtered(
          front.planes[plane], outerWidth / dx, outerHeight / dy, x: axis(outerWidth, width, dx, dx > 1 ? site.x : 0.5),
          y: axis(outerHeight, height, dy, dy > 1 ? site.y : 0.5))
        round(&picture.planes[plane])
      }
      let radius = 0.04 * min(visible[2] * scale[0], visible[3] * scale[1])
      apply(.blur(radius: radius), to: &picture, scale, seen: [])
      for plane in 0..<3 {
        let (dx, dy) = step(plane)
        let (from, width) = (front.planes[plane], picture.planes[plane].width)
        for row in 0..<from.height {
          for column in 0..<from.width {
            let at = ((y - top) / dy + row) * width + (x - left) / dx + column
            picture.planes[plane].samples[at] = from.samples[row * from.width + column]
          }
        }
        round(&picture.planes[plane])
      }
      origin = [Double(left), Double(top)]
    }
    let seen = [visible[0] - origin[0], visible[1] - origin[1], visible[2], visible[3]]
    for filter in filters { apply(filter, to: &picture, scale, seen: seen) }
    if !picture.hasAlpha { for plane in 0..<3 { round(&picture.planes[plane]) } }
    return origin
  }

  private func apply(_ filter: Filter<Double>, to picture: inout Picture, _ scale: [Double], seen: [Double]) {
    let (cellX, cellY) = picture.hasAlpha ? (1, 1) : (across, down)
    func share(_ at: Int) -> Double { picture.hasAlpha ? picture.planes[3].samples[at] : 1 }
    func limit(_ plane: Int) {
      for at in picture.planes[plane].samples.indices {
        let most = picture.hasAlpha ? (highest + 1) * share(at) : highest
        picture.planes[plane].samples[at] = min(most, max(0, picture.planes[plane].samples[at]))
      }
    }
    switch filter {
    case .blur(let radius):
      for plane in picture.planes.indices {
        let (dx, dy) = plane == 1 || plane == 2 ? (cellX, cellY) : (1, 1)
        var blurred = FilterReference.Lines(
          picture.planes[plane].samples, picture.planes[plane].width, picture.planes[plane].height)
        blurred.blur(radius / scale[0] / Double(dx), radius / scale[1] / Double(dy))
        picture.planes[plane].samples = blurred.samples
      }
    case .contrast(let amount):
      for plane in 0..<3 {
        let middle = (plane == 0 ? 16 + 219 * 0.5 : 128) * step
        for at in picture.planes[plane].samples.indices {
          let change = (1 - amount) * middle * share(at)
          picture.planes[plane].samples[at] = picture.planes[plane].samples[at] * amount + change
        }
        limit(plane)
      }
    case .vignette(let amount, let radius, let softness):
      let (halfX, halfY) = (seen[2] / 2 * scale[0], seen[3] / 2 * scale[1])
      for plane in 0..<3 {
        let (dx, dy) = plane == 0 ? (1, 1) : (cellX, cellY)
        let size = picture.planes[plane]
        for row in 0..<size.height {
          for column in 0..<size.width {
            let x = ((Double(column) + 0.5) * Double(dx) - seen[0] - seen[2] / 2) * scale[0]
            let y = ((Double(row) + 0.5) * Double(dy) - seen[1] - seen[3] / 2) * scale[1]
            let distance = ((x * x + y * y) / (halfX * halfX + halfY * halfY)).squareRoot()
            let t = min(1, max(0, (distance - radius) / softness))
            let kept = 1 - amount * t * t * (3 - 2 * t)
            let at = row * size.width + column
            let dark = (plane == 0 ? 16 : 128) * step * share(at)
            picture.planes[plane].samples[at] = dark + (picture.planes[plane].samples[at] - dark) * kept
          }
        }
      }
    default: preconditionFailure("the reference does not have \(filter.kind)")
    }
  }

  // MARK: Drawing

  private func draw(_ layer: Layer, on planes: inout [Plane]) {
    let whole = layer.picture.planes[0]
    var (matrix, crop, visible, rectangle, scale) = place(layer, (Double(whole.width), Double(whole.height)))
    var layer = layer
    if layer.fit == .blur || !layer.filters.isEmpty {
      let origin = filter(&layer.picture, layer.filters, crop, visible, scale, isOverBlur: layer.fit == .blur)
      if layer.fit == .blur { crop = visible }
      for axis in 0..<2 {
        matrix[4 + axis] += matrix[axis] * origin[0] + matrix[2 + axis] * origin[1]
        crop[axis] -= origin[axis]
        visible[axis] -= origin[axis]
      }
    }
    let chromaSize = (planes[1].width, planes[1].height)
    var colours: [Plane]
    var alpha = coverage(matrix, visible)
    var chromaAlpha = wholeCells(alpha) ?? subsampled(alpha)
    if layer.picture.hasAlpha {
      var full = layer.picture.planes.enumerated().map { index, plane in
        sampled(
          plane, matrix, crop, across: 1, down: 1, to: (width, height), limit: index == 3 ? 1 : highest + 1)
      }
      for at in alpha.samples.indices {
        let own = full[3].samples[at]
        for plane in 0..<3 {
          full[plane].samples[at] = min(full[plane].samples[at], own * (highest + 1)) * alpha.samples[at]
        }
        alpha.samples[at] *= own
      }
      chromaAlpha = subsampled(alpha)
      colours = [full[0], subsampled(full[1]), subsampled(full[2])]
    } else {
      colours = (0..<3).map {
        let isChroma = $0 > 0
        return sampled(
          layer.picture.planes[$0], matrix, crop, across: isChroma ? across : 1, down: isChroma ? down : 1,
          to: isChroma ? chromaSize : (width, height), limit: highest)
      }
      for plane in 0..<3 {
        round(&colours[plane])
        for at in colours[plane].samples.indices {
          colours[plane].samples[at] *= (plane == 0 ? alpha : chromaAlpha).samples[at]
        }
      }
    }
    if let mask = layer.mask {
      let (w, h) = (Double(mask.width), Double(mask.height))
      let matrix = [
        rectangle[0] / w, rectangle[1] / w, rectangle[2] / h, rectangle[3] / h, rectangle[4], rectangle[5],
      ]
      let shown = sampled(mask, matrix, [0, 0, w, h], across: 1, down: 1, to: (width, height), limit: 1)
      let ofChroma = subsampled(shown)
      func masked(_ plane: inout Plane, _ mask: Plane) {
        for at in plane.samples.indices { plane.samples[at] *= mask.samples[at] }
      }
      masked(&alpha, shown)
      masked(&colours[0], shown)
      masked(&chromaAlpha, ofChroma)
      masked(&colours[1], ofChroma)
      masked(&colours[2], ofChroma)
    }
    if let mode = layer.blendMode {
      blend(colours, alpha, chromaAlpha, mode, layer.opacity, on: &planes)
      return
    }
    for plane in 0..<3 {
      let coverage = plane == 0 ? alpha : chromaAlpha
      for at in planes[plane].samples.indices {
        let under = planes[plane].samples[at] * (1 - coverage.samples[at] * layer.opacity)
        planes[plane].samples[at] = min(highest, under + colours[plane].samples[at] * layer.opacity)
      }
    }
  }

  /// The pixels along an axis that a chroma sample is made from, counted from the first of its cell.
  private func taps(_ cell: Int, _ site: Double) -> [(Int, Double)] {
    if cell == 1 { return [(0, 1)] }
    if site == 1 { return [(0, 0.5), (1, 0.5)] }
    let pixel = Int(site)
    return [(pixel - 1, 0.25), (pixel, 0.5), (pixel + 1, 0.25)]
  }

  /// The chroma samples of a plane: each is the mean of its cell along an axis where it lies in the middle of that, and
  /// elsewhere half of the pixel that it lies at and a quarter of each of its neighbours.
  private func subsampled(_ plane: Plane) -> Plane {
    var result = Plane((width + across - 1) / across, (height + down - 1) / down)
    for y in 0..<result.height {
      for x in 0..<result.width {
        for (dy, ofRow) in taps(down, site.y) {
          for (dx, ofColumn) in taps(across, site.x) {
            let column = min(width - 1, max(0, x * across + dx))
            let row = min(height - 1, max(0, y * down + dy))
            result.samples[y * result.width + x] += ofRow * ofColumn * plane.samples[row * width + column]
          }
        }
      }
    }
    return result
  }

  /// The coverage of chroma samples by a picture that covers whole cells: it has their chroma for itself. Nil for any
  /// other.
  private func wholeCells(_ alpha: Plane) -> Plane? {
    var result = Plane((width + across - 1) / across, (height + down - 1) / down)
    for y in 0..<height {
      for x in 0..<width {
        let (own, first) = (alpha.samples[y * width + x], alpha.samples[(y - y % down) * width + x - x % across])
        if own != first || (own != 0 && own != 1) { return nil }
        result.samples[y / down * result.width + x / across] = own
      }
    }
    return result
  }

  /// A chroma plane at each pixel, by linear interpolation between its samples' places.
  private func interpolated(_ plane: Plane) -> Plane {
    /// The sample at or before a pixel, and the share of the next one.
    func neighbours(_ pixel: Int, _ cell: Int, _ site: Double) -> (Int, Double) {
      let at = (Double(pixel) + 0.5 - site) / Double(cell)
      return (Int(at.rounded(.down)), at - at.rounded(.down))
    }
    var result = Plane(width, height)
    for y in 0..<height {
      let (row, ofNextRow) = neighbours(y, down, site.y)
      for x in 0..<width {
        let (column, ofNext) = neighbours(x, across, site.x)
        for (dy, ofRow) in [(0, 1 - ofNextRow), (1, ofNextRow)] {
          for (dx, ofColumn) in [(0, 1 - ofNext), (1, ofNext)] {
            let from = (min(plane.width - 1, max(0, column + dx)), min(plane.height - 1, max(0, row + dy)))
            result.samples[y * width + x] += ofRow * ofColumn * plane.samples[from.1 * plane.width + from.0]
          }
        }
      }
    }
    return result
  }

  private func blend(
    _ colours: [Plane], _ alpha: Plane, _ chromaAlpha: Plane, _ mode: BlendMode, _ opacity: Double,
    on planes: inout [Plane]
  ) {
    let (shares, cb, cr) = (interpolated(chromaAlpha), interpolated(planes[1]), interpolated(planes[2]))
    let (ownCb, ownCr) = (interpolated(colours[1]), interpolated(colours[2]))
    let zero = codes(0, 0, 0)
    func change(_ below: [Double], _ top: [Double], _ own: Double) -> [Double] {
      let change = zip(rgb(below), rgb(top)).map { (Self.blended(mode, $0, $1) - $0) * own * opacity }
      return zip(codes(change[0], change[1], change[2]), zero).map { $0 - $1 }
    }
    let old = planes
    for at in alpha.samples.indices {
      let (own, share) = (alpha.samples[at], shares.samples[at])
      if own <= 0 || share <= 0 { continue }
      let ofLuma = change(
        [old[0].samples[at], cb.samples[at], cr.samples[at]],
        [colours[0].samples[at] / own, ownCb.samples[at] / share, ownCr.samples[at] / share], own)[0]
      planes[0].samples[at] = min(highest, max(0, old[0].samples[at] + ofLuma))
    }
    for row in 0..<planes[1].height {
      for column in 0..<planes[1].width {
        // The picture's chroma, or that of the samples around where it has none.
        func around(_ plane: Plane, _ reach: Int) -> Double {
          var sum = 0.0
          for y in max(0, row - reach)...min(plane.height - 1, row + reach) {
            for x in max(0, column - reach)...min(plane.width - 1, column + reach) {
              sum += plane.samples[y * plane.width + x]
            }
          }
          return sum
        }
        let at = row * planes[1].width + column
        let reach = chromaAlpha.samples[at] > 0 ? 0 : 1
        let share = around(chromaAlpha, reach)
        if share <= 0 { continue }
        let top = (around(colours[1], reach) / share, around(colours[2], reach) / share)
        for (dy, ofRow) in taps(down, site.y) {
          for (dx, ofColumn) in taps(across, site.x) {
            let y = min(height - 1, max(0, row * down + dy))
            let pixel = y * width + min(width - 1, max(0, column * across + dx))
            let own = alpha.samples[pixel]
            if own <= 0 { continue }
            let made = change(
              [old[0].samples[pixel], old[1].samples[at], old[2].samples[at]],
              [colours[0].samples[pixel] / own, top.0, top.1], own)
            for chroma in 1...2 { planes[chroma].samples[at] += ofRow * ofColumn * made[chroma] }
          }
        }
        for chroma in 1...2 { planes[chroma].samples[at] = min(highest, max(0, planes[chroma].samples[at])) }
      }
    }
  }

  /// "Compositing and Blending Level 1", section 9, for the backdrop `b` and the source `s`; `add` and `subtract` as in
  /// every editor.
  static func blended(_ mode: BlendMode, _ b: Double, _ s: Double) -> Double {
    switch mode {
    case .multiply: return b * s
    case .screen: return b + s - b * s
    case .overlay: return blended(.hardLight, s, b)
    case .darken: return min(b, s)
    case .lighten: return max(b, s)
    case .add: return min(1, b + s)
    case .difference: return abs(b - s)
    case .softLight:
      if s <= 0.5 { return b - (1 - 2 * s) * b * (1 - b) }
      let d = b <= 0.25 ? ((16 * b - 12) * b + 4) * b : b.squareRoot()
      return b + (2 * s - 1) * (d - b)
    case .hardLight: return s <= 0.5 ? blended(.multiply, b, 2 * s) : blended(.screen, b, 2 * s - 1)
    case .colorDodge: return b == 0 ? 0 : s == 1 ? 1 : min(1, b / (1 - s))
    case .colorBurn: return b == 1 ? 1 : s == 0 ? 0 : 1 - min(1, (1 - b) / s)
    case .exclusion: return b + s - 2 * b * s
    case .subtract: return max(0, b - s)
    }
  }
}
