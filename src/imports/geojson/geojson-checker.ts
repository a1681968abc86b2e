import { ImportFailure } from '../import-failure.ts'
import { checkColumnCount } from '../load/stage-table.ts'
import type { JsonHandler } from './json-scanner.ts'
import { type ReferenceSystem, ReferenceSystemReader } from './reference-system.ts'

/** What a frame is: a value of GeoJSON, or something that is not looked at. */
type Role =
  | 'top'
  | 'features'
  | 'feature'
  | 'geometry'
  | 'geometries'
  | 'coordinates'
  | 'crs'
  | 'crs-properties'
  | 'other'

type Frame = {
  role: Role
  /** The name of the member that is being read. */
  member: string
  type?: string | undefined
  found?: FoundCoordinates | undefined
  /** A fault of an object of the file: it counts if the object turns out to be a feature. */
  fault?: string | undefined
}

/** What the coordinates of one geometry are, whatever its type is: that may come after them. */
type FoundCoordinates = {
  hasCoordinates: boolean
  hasGeometries: boolean
  /** Nesting of its positions; undefined: it has none. */
  positionDepth: number | undefined
  /** The deepest of its empty arrays. */
  emptyDepth: number
  fault: string | undefined
}

/**
 * Reads GeoJSON beside GDAL, which leaves out, cuts or changes what it does not understand, without a word. Throws an
 * ImportFailure that says where.
 */
export class GeojsonChecker implements JsonHandler {
  /** Rows that the file must give. */
  features = 0
  crs: ReferenceSystem | undefined
  /** Coordinates that cannot be longitude and latitude. */
  isFar = false
  readonly #frames: Frame[] = []
  /** The depth of the coordinates that are being read. */
  #depth = 0
  #numbers = 0
  #elements: number[] = []
  #crs = new ReferenceSystemReader()
  /** The reference system of the top object that is being read: a sequence has several objects. */
  #topCrs: ReferenceSystem | undefined
  #tops = 0
  readonly #columns = new Set<string>()
  readonly #ids = new Set<'number' | 'text'>()

  /** Features have numbers as their `id`, and none a text: GDAL makes no column of them. */
  get hasLostIds(): boolean {
    return this.#ids.has('number') && !this.#ids.has('text')
  }

  get wantsText(): boolean {
    const frame = this.#frames.at(-1)
    if (!frame) return false
    if (frame.role === 'crs' || frame.role === 'crs-properties') return true
    return isThing(frame) && (frame.member === 'type' || frame.member === 'crs')
  }

  opened(isObject: boolean): void {
    const role = this.#roleOf(isObject)
    if (role === 'coordinates') this.#openCoordinates()
    if (role === 'feature') this.features++
    if (role === 'crs') this.#crs = new ReferenceSystemReader()
    if (role === 'geometries') this.#found.hasGeometries = true
    const isGeometry = role === 'geometry' || role === 'top'
    this.#frames.push({ role, member: '', found: isGeometry ? nothingFound() : undefined })
  }

  closed(): void {
    const frame = this.#frames.pop()!
    if (frame.role === 'coordinates') this.#closeCoordinates()
    else if (frame.role === 'crs') this.#closeCrs()
    else if (frame.role === 'geometry') this.#checkGeometry(frame)
    else if (frame.role === 'feature') this.#checkFeature(frame)
    else if (frame.role === 'top') this.#checkTop(frame)
  }

  named(name: string): void {
    const frame = this.#frames.at(-1)!
    frame.member = name
    if (frame.role === 'feature' && (name === 'geometry' || name === 'properties')) frame.type ??= ''
    if (frame.role === 'other' && this.#isProperties) this.#countColumn(name)
  }

  text(text: string | undefined): void {
    const frame = this.#frames.at(-1)
    if (isFeatureId(frame)) this.#ids.add('text')
    if (frame?.role === 'crs') this.#crs.take(`crs ${frame.member}`, text ?? '')
    else if (frame?.role === 'crs-properties') this.#crs.take(frame.member, text ?? '')
    else if (frame?.member === 'type' && isThing(frame)) frame.type = text ?? 'too long'
    else this.#plain('a text', text)
  }

  scalar(text: string): void {
    const frame = this.#frames.at(-1)
    if (isFeatureId(frame) && text !== 'null') this.#ids.add('number')
    if (frame?.role === 'coordinates') this.#number(text)
    else if (frame?.role === 'crs-properties') this.#crs.take(frame.member, text)
    else if (text !== 'null' || !frame || frame.role === 'features' || frame.role === 'geometries')
      this.#plain(text)
  }

  unstorable(what: string, isName: boolean): never {
    // The outermost object that is not GeoJSON's own: the properties.
    const { member = '' } = this.#frames.find(({ role }) => role === 'other') ?? this.#frames.at(-1) ?? {}
    const where = isName ? 'the name of a member' : member === '' ? 'a text' : `'${member.slice(0, 100)}'`
    throw new ImportFailure(2001, `${this.#place}${where} has ${what}, which PostgreSQL cannot store`)
  }

  /** The object that is being read has the properties of a feature. */
  get #isProperties(): boolean {
    const parent = this.#frames.at(-2)
    return parent !== undefined && isThing(parent) && parent.member === 'properties'
  }

  /** GDAL takes minutes for very many columns, so they are counted before it. */
  #countColumn(name: string): void {
    this.#columns.add(name)
    checkColumnCount(this.#columns.size)
  }

  /** For a sentence. */
  get #place(): string {
    const isInside = this.#frames.some(({ role }) => role === 'feature')
    return isInside ? `Feature ${this.features}: ` : ''
  }

  #roleOf(isObject: boolean): Role {
    const parent = this.#frames.at(-1)
    if (!parent) return isObject ? 'top' : this.#refuse('The file is a list, not an object of GeoJSON')
    const { role, member } = parent
    if (role === 'features')
      return isObject ? 'feature' : this.#refuse(`Feature ${this.features + 1} is not an object`)
    if (role === 'geometries')
      return isObject ? 'geometry' : this.#refuse(`${this.#place}a member of geometries is not an object`)
    if (role === 'coordinates')
      return isObject ? this.#refuse(`${this.#place}its coordinates have an object among them`) : role
    if (role === 'crs') return isObject && member === 'properties' ? 'crs-properties' : 'other'
    return isThing(parent) ? this.#memberRole(parent, isObject) : 'other'
  }

  #memberRole({ role, member }: Frame, isObject: boolean): Role {
    if (member === 'crs' && isObject) return 'crs'
    if (member === 'crs') this.#keepCrs({ kind: 'unknown', name: 'a list' })
    if (member === 'features' && role === 'top' && !isObject) return 'features'
    if (member === 'geometry' && role !== 'geometry' && isObject) return 'geometry'
    if (!isObject) this.#checkMember()
    if (role === 'feature') return 'other'
    if (member === 'coordinates') return isObject ? 'other' : 'coordinates'
    return member === 'geometries' && !isObject ? 'geometries' : 'other'
  }

  /** A text, number or word, where one may be. */
  #plain(what: string, text?: string): void {
    const frame = this.#frames.at(-1)
    if (!frame) this.#refuse(`The file has ${what} where GeoJSON has an object`)
    const { role, member } = frame!
    if (role === 'coordinates') this.#fault('are not all numbers')
    else if (role === 'features') this.#refuse(`Feature ${this.features + 1} is not an object`)
    else if (role === 'geometries') this.#refuse(`${this.#place}a member of geometries is not an object`)
    else if (!isThing(frame!)) return
    else if (member === 'crs') this.#keepCrs({ kind: 'unknown', name: text ?? what })
    else this.#checkMember()
  }

  /** The value of a member that is no object. */
  #checkMember(): void {
    const frame = this.#frames.at(-1)!
    const fault = { geometry: 'its geometry is', properties: 'its properties are' }[frame.member]
    if (fault === undefined) return
    if (frame.role === 'feature') this.#refuse(`${this.#place}${fault} not an object`)
    frame.fault = `${fault} not an object`
  }

  #refuse(sentence: string): never {
    throw new ImportFailure(3007, sentence)
  }

  get #found(): FoundCoordinates {
    return this.#frames.findLast(({ found }) => found)!.found!
  }

  #fault(fault: string): void {
    this.#found.fault ??= fault
  }

  #openCoordinates(): void {
    if (this.#depth > 0) this.#elements[this.#depth]!++
    else this.#found.hasCoordinates = true
    this.#depth++
    this.#elements[this.#depth] = 0
    this.#numbers = 0
  }

  #closeCoordinates(): void {
    const found = this.#found
    const count = this.#elements[this.#depth]!
    if (this.#numbers > 0) {
      if (this.#numbers === 1 || count > 0) this.#fault('are not pairs of numbers')
      found.positionDepth ??= this.#depth
      if (found.positionDepth !== this.#depth) this.#fault('are not nested alike')
    } else if (count === 0) found.emptyDepth = Math.max(found.emptyDepth, this.#depth)
    this.#numbers = 0
    this.#depth--
  }

  #number(text: string): void {
    const value = Number(text)
    if (!Number.isFinite(value) || text === 'null') this.#fault('are not all numbers')
    if (this.#elements[this.#depth]! > 0) this.#fault('are not nested alike')
    this.#numbers++
    if (
      (this.#numbers === 1 && Math.abs(value) > 360) ||
      (this.#numbers === 2 && Math.abs(value) > 90.000001)
    )
      this.isFar = true
  }

  #checkGeometry({ type, found }: Frame): void {
    const { hasCoordinates, hasGeometries, positionDepth, emptyDepth, fault } = found!
    if (type === 'GeometryCollection') {
      if (!hasGeometries) this.#refuse(`${this.#place}its GeometryCollection has no geometries`)
      return
    }
    const depth = positionDepths[type ?? '']
    if (depth === undefined) {
      const named = type ? `'${type.slice(0, 100)}'` : 'missing'
      this.#refuse(`${this.#place}the type of its geometry is ${named}, which GeoJSON does not know`)
    }
    if (!hasCoordinates) this.#refuse(`${this.#place}its ${type} has no coordinates`)
    const isWrong = positionDepth !== undefined && positionDepth !== depth
    const isHollow = emptyDepth > depth! || (emptyDepth === depth! && depth! > 1)
    const what = fault ?? (isWrong || isHollow ? `are not those of a ${type}` : undefined)
    if (what !== undefined) this.#refuse(`${this.#place}the coordinates of its ${type} ${what}`)
  }

  #checkFeature({ type }: Frame): void {
    if (type === undefined || (type !== '' && type !== 'Feature'))
      this.#refuse(`Feature ${this.features} is not of the type Feature`)
  }

  /** One object of the file: a collection, a feature or a geometry. Others are left to GDAL. */
  #checkTop(frame: Frame): void {
    const { type = '', fault } = frame
    if (type === 'GeometryCollection' || type in positionDepths) this.#checkGeometry(frame)
    if (type === 'Feature' && fault !== undefined) this.#refuse(fault)
    if (type !== 'FeatureCollection') this.features++
    if (this.#tops > 0 && this.#topCrs?.name !== this.crs?.name)
      throw new ImportFailure(3008, 'The features of the file have different reference systems')
    this.crs = this.#topCrs
    this.#topCrs = undefined
    this.#tops++
  }

  #closeCrs(): void {
    this.#keepCrs(this.#crs.read())
  }

  /** GDAL reads that of the file alone. */
  #keepCrs(found: ReferenceSystem): void {
    if (this.#frames.length === 1) this.#topCrs = found
    else if (found.kind !== 'longitude-latitude')
      throw new ImportFailure(
        3008,
        `${this.#place}it has a reference system of its own (${found.name.slice(0, 100)}): give it once, for the whole file`,
      )
  }
}

/** How deep positions are nested in the coordinates. */
const positionDepths: Readonly<Record<string, number>> = {
  Point: 1,
  MultiPoint: 2,
  LineString: 2,
  MultiLineString: 3,
  Polygon: 3,
  MultiPolygon: 4,
}

const isFeatureId = (frame: Frame | undefined) =>
  (frame?.role === 'feature' || frame?.role === 'top') && frame.member === 'id'

const isThing = ({ role }: Frame) => role === 'top' || role === 'feature' || role === 'geometry'

const nothingFound = (): FoundCoordinates => ({
  hasCoordinates: false,
  hasGeometries: false,
  positionDepth: undefined,
  emptyDepth: 0,
  fault: undefined,
})
