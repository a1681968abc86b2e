/**
 * Whether PostGIS reads a text as a geometry: WKT or EWKT, or (E)WKB in hexadecimal. Of the types of OGC alone, and as
 * strict as PostGIS: rings are closed, lines have two points, dimensions are not mixed.
 */
export function isGeometryText(text: string): boolean {
  if (/^0[01][0-9a-f]+$/i.test(text)) return isWkb(text)
  const [, type, tag, body] = wkt.exec(text) ?? []
  if (type === undefined) return false
  if (/^EMPTY$/i.test(body!)) return true
  const reader = new WktReader(body!, { Z: 3, M: 3, ZM: 4 }[tag!.toUpperCase()])
  return reader.reads(type.toUpperCase()) && reader.isAtEnd
}

const wkt =
  /^(?:SRID=\d{1,6};)? ?((?:MULTI)?(?:POINT|LINESTRING|POLYGON)|GEOMETRYCOLLECTION)[ ]?(ZM|Z|M|) ?(\(.*\)|EMPTY)$/i

class WktReader {
  readonly #text: string
  #at = 0
  /** Ordinates of a point: all have as many as the first. */
  #size: number | undefined

  constructor(text: string, size: number | undefined) {
    this.#text = text
    this.#size = size
  }

  get isAtEnd(): boolean {
    return this.#at === this.#text.length
  }

  reads(type: string): boolean {
    if (type === 'POINT') return this.#points(1, 1)
    if (type === 'LINESTRING') return this.#points(2)
    if (type === 'POLYGON') return this.#list(() => this.#ring())
    if (type === 'MULTIPOINT') return this.#list(() => this.#points(1, 1) || this.#point() !== undefined)
    if (type === 'MULTILINESTRING') return this.#list(() => this.#points(2))
    if (type === 'MULTIPOLYGON') return this.#list(() => this.#list(() => this.#ring()))
    return this.#list(() => {
      const member = this.#take(/((?:MULTI)?(?:POINT|LINESTRING|POLYGON)|GEOMETRYCOLLECTION) ?(?=\()/iy)
      return member !== undefined && this.reads(member.trim().toUpperCase())
    })
  }

  #list(readMember: () => boolean): boolean {
    if (!this.#take(/\( ?/y)) return false
    do if (!readMember()) return false
    while (this.#take(/ ?, ?/y))
    return this.#take(/ ?\)/y) !== undefined
  }

  #points(least: number, most = Number.POSITIVE_INFINITY): boolean {
    const found: string[] = []
    const isRead = this.#list(() => {
      const point = this.#point()
      return point !== undefined && found.push(point) > 0
    })
    return isRead && found.length >= least && found.length <= most
  }

  #ring(): boolean {
    const from = this.#at
    if (!this.#points(4)) return false
    const points = this.#text.slice(from + 1, this.#at - 1).split(',')
    return points[0]!.trim() === points.at(-1)!.trim()
  }

  #point(): string | undefined {
    const point = this.#take(/-?\d+(\.\d+)?(e[+-]?\d{1,2})?( -?\d+(\.\d+)?(e[+-]?\d{1,2})?){1,3}/iy)
    const size = point?.split(' ').length
    this.#size ??= size
    return size === this.#size ? point : undefined
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const [found] = pattern.exec(this.#text) ?? []
    this.#at += found?.length ?? 0
    return found
  }
}

function isWkb(hex: string): boolean {
  if (hex.length % 2 !== 0) return false
  const bytes = new Uint8Array(hex.length / 2)
  for (let at = 0; at < bytes.length; at++) bytes[at] = Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16)
  const reader = new WkbReader(bytes)
  try {
    return reader.reads() && reader.isAtEnd
  } catch (error) {
    // It ends too early.
    if (error instanceof RangeError) return false
    throw error
  }
}

class WkbReader {
  readonly #view: DataView
  #at = 0
  #isLittle = true
  #dimensions: number | undefined

  constructor(bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer)
  }

  get isAtEnd(): boolean {
    return this.#at === this.#view.byteLength
  }

  /** With the type of the members where that is given. */
  reads(wanted?: number): boolean {
    const order = this.#view.getUint8(this.#at++)
    if (order > 1) return false
    this.#isLittle = order === 1
    const code = this.#uint32()
    const type = code & 0xff
    // EWKB has flags for Z, M and an SRID, which members do not repeat; other bits are not for us.
    if (code & 0x1fffff00 || type < 1 || type > 7 || (wanted !== undefined && type !== wanted)) return false
    if (code & 0x20000000 && this.#dimensions === undefined) this.#uint32()
    else if (code & 0x20000000) return false
    const dimensions = 2 + (code & 0x80000000 ? 1 : 0) + (code & 0x40000000 ? 1 : 0)
    this.#dimensions ??= dimensions
    return dimensions === this.#dimensions && this.#body(type)
  }

  #body(type: number): boolean {
    if (type === 1) return this.#skipPoints(1)
    const count = this.#uint32()
    if (type === 2) return count !== 1 && this.#skipPoints(count)
    const memberType = type === 7 ? undefined : type - 3
    for (let each = 0; each < count; each++) {
      if (!(type === 3 ? this.#ring() : this.reads(memberType))) return false
    }
    return true
  }

  #ring(): boolean {
    const count = this.#uint32()
    const from = this.#at
    if (count < 4 || !this.#skipPoints(count)) return false
    const size = this.#dimensions! * 8
    for (let at = 0; at < size; at++) {
      if (this.#view.getUint8(from + at) !== this.#view.getUint8(this.#at - size + at)) return false
    }
    return true
  }

  #skipPoints(count: number): boolean {
    this.#at += count * this.#dimensions! * 8
    return this.#at <= this.#view.byteLength
  }

  #uint32(): number {
    this.#at += 4
    return this.#view.getUint32(this.#at - 4, this.#isLittle)
  }
}
