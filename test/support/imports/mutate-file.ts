import { gzipSync } from 'node:zlib'
import type { Random } from '../../../chaos/random.ts'
import { columnFile } from './column-files.ts'
import { made, places } from './import-api.ts'
import { zipOf } from './zip.ts'

/** A file of each kind that can be imported, as parts that can be changed. */
export type OriginalFile = Readonly<{
  name: string
  parts: ReadonlyMap<string, Buffer>
  /** Builds the file from its parts. */
  join: (parts: ReadonlyMap<string, Buffer>) => Buffer
}>

const whole = (name: string, content: string | Buffer): OriginalFile => ({
  name,
  parts: new Map([[name, Buffer.from(content)]]),
  join: (parts) => parts.get(name)!,
})

const zipped = (name: string, parts: ReadonlyMap<string, Buffer>): OriginalFile => ({
  name,
  parts,
  join: (all) => zipOf([...all].map(([part, content]) => ({ name: part, content }))),
})

const gdal = (driver: string, ending: string) =>
  whole(`a.${ending}`, made(driver, `a.${ending}`, places).get(`a.${ending}`)!)

/** All except .pbf, which nothing here can write. */
export function originalFiles(): readonly OriginalFile[] {
  const csv = 'a,lon,lat,d\n1,2,3,2020-01-31\n"x",4,5,\n'
  const lines = JSON.parse(places).features.map((feature: object) => JSON.stringify(feature))
  const gpx = `<gpx version="1.1" creator="x"><wpt lat="1" lon="2"><name>a</name></wpt><trk><trkseg><trkpt lat="1" lon="2"/><trkpt lat="2" lon="2"/></trkseg></trk></gpx>`
  const osm = `<osm version="0.6"><node id="1" lat="1" lon="2" version="1"><tag k="name" v="a b"/></node><node id="2" lat="2" lon="2" version="1"/><way id="5" version="1"><nd ref="1"/><nd ref="2"/><tag k="highway" v="y"/></way></osm>`
  return [
    whole('a.csv', csv),
    { ...whole('a.csv.gz', csv), join: (parts) => gzipSync(parts.get('a.csv.gz')!) },
    whole('a.geojson', places),
    whole('a.geojsonl', lines.join('\n')),
    whole('a.gpx', gpx),
    whole('a.osm', osm),
    gdal('GPKG', 'gpkg'),
    gdal('FlatGeobuf', 'fgb'),
    gdal('LIBKML', 'kml'),
    gdal('LIBKML', 'kmz'),
    gdal('XLSX', 'xlsx'),
    gdal('ODS', 'ods'),
    zipped('shp.zip', made('ESRI Shapefile', 'a.shp', places)),
    zipped('gdb.zip', made('OpenFileGDB', 'a.gdb', places)),
    zipped('tab.zip', made('MapInfo File', 'a.tab', places)),
    zipped('mif.zip', made('MapInfo File', 'a.mif', places)),
    whole('a.parquet', columnFile('pyarrow.parquet')),
    whole('a.arrow', columnFile('pyarrow.arrow')),
    whole('a.arrows', columnFile('pyarrow.arrows')),
    whole('lz4.feather', columnFile('pyarrow-lz4.feather')),
    whole('zstd.feather', columnFile('pyarrow-zstd.feather')),
  ]
}

/** A file with changes in one of its parts or in its archive. */
export function mutateFile({ parts, join }: OriginalFile, random: Random): Buffer {
  if (parts.size === 1 || random.isLucky(0.2)) {
    const [name] = parts.keys()
    if (random.isLucky(0.3) || parts.size > 1) return mutateBytes(join(parts), random)
    return join(new Map([[name!, mutateBytes(parts.get(name!)!, random)]]))
  }
  const name = random.pick([...parts.keys()])
  return join(new Map([...parts, [name, mutateBytes(parts.get(name)!, random)]]))
}

function mutateBytes(original: Buffer, random: Random): Buffer {
  let bytes: Buffer = Buffer.from(original)
  const changes = Math.ceil(random.between(0, 4)) ** 2
  for (let change = 0; change < changes && bytes.length > 0; change++) {
    const at = Math.floor(random.next() * bytes.length)
    bytes = mutations[random.weighted(weights)](bytes, at, random)
  }
  return bytes
}

const weights = { byte: 8, bit: 4, number: 4, cut: 1, repeat: 1, drop: 1, zero: 1 }

const mutations: Record<keyof typeof weights, (bytes: Buffer, at: number, random: Random) => Buffer> = {
  byte(bytes, at, random) {
    bytes[at] = Math.floor(random.next() * 256)
    return bytes
  },
  bit(bytes, at, random) {
    bytes[at]! ^= 1 << Math.floor(random.next() * 8)
    return bytes
  },
  number(bytes, at, random) {
    const value = random.pick([0, 1, -1, 0x7fffffff, -0x80000000, 0x10000000, 255, 65_535])
    if (at + 4 <= bytes.length) bytes.writeInt32LE(value, at)
    return bytes
  },
  cut: (bytes, at) => bytes.subarray(0, at),
  repeat: (bytes, at, random) => {
    const end = at + Math.ceil(random.between(0, 200))
    return Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)])
  },
  drop: (bytes, at, random) =>
    Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + Math.ceil(random.between(0, 200)))]),
  zero(bytes, at, random) {
    bytes.fill(0, at, Math.min(bytes.length, at + Math.ceil(random.between(0, 64))))
    return bytes
  },
}
