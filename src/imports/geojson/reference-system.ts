/** What a member `crs` of GeoJSON names. */
export type ReferenceSystem = Readonly<{
  /** `named`: GDAL knows it, or says that it does not. `unknown`: GDAL would take it for longitude and latitude. */
  kind: 'longitude-latitude' | 'named' | 'unknown'
  name: string
}>

/** Reads a member `crs`: `{"type": "name", "properties": {"name": ...}}`, or of the type EPSG with a code. */
export class ReferenceSystemReader {
  readonly #values = new Map<string, string>()

  take(member: string, value: string): void {
    this.#values.set(member, value)
  }

  read(): ReferenceSystem {
    const type = this.#values.get('crs type')
    const name =
      type === 'EPSG' ? `EPSG:${this.#values.get('code')}` : (this.#values.get('name') ?? 'without a name')
    if (type !== 'name' && type !== 'EPSG') return { kind: 'unknown', name: this.#values.get('href') ?? name }
    if (longitudeLatitude.test(name)) return { kind: 'longitude-latitude', name }
    return { kind: understood.test(name) ? 'named' : 'unknown', name }
  }
}

const longitudeLatitude =
  /^(?:(?:urn:(?:x-)?ogc:def:crs:)?(?:OGC:(?:[\d.]*:)?(?:CRS84|84)|EPSG:(?:[\d.]*:)?4326)|CRS:?84|WGS ?84|https?:\/\/(?:www\.)?opengis\.net\/def\/crs\/(?:OGC\/[\d.]+\/CRS84|EPSG\/0\/4326))$/i

const understood =
  /^(?:(?:EPSG|ESRI|IGNF):\w+|urn:(?:x-)?ogc:def:crs:[\w.]+:[\w.:]+|https?:\/\/(?:www\.)?opengis\.net\/def\/crs\/[\w./]+)$/i
