import {
  Binary,
  Bool,
  type DataType,
  DateDay,
  Decimal,
  Field,
  Float32,
  Float64,
  Int16,
  Int32,
  Int64,
  Timestamp,
  TimeUnit,
  Uint32,
  Utf8,
} from 'apache-arrow'
import type { Column } from '../rows/columns.ts'
import { builtInTypes } from '../rows/pg-types.ts'
import {
  BoolBuilder,
  BytesBuilder,
  type ColumnBuilder,
  NumberBuilder,
  readBig,
  readDay,
  readDecimal,
  readFloat,
  readMicros,
  readWhole,
  WideBuilder,
  writeBytea,
  writeWkb,
} from './column-builders.ts'
import type { GeometryOids } from './geometry-types.ts'

/** A column of an answer in Arrow. */
export type ArrowColumn = Readonly<{
  name: string
  builder: ColumnBuilder
  isGeometry: boolean
  pgType: string
}>

/** Types are kept exactly; what Arrow has no type for is PostgreSQL's text. */
export function arrowColumn({ name, typeOid, modifier }: Column, oids: GeometryOids): ArrowColumn {
  const isGeometry = typeOid === oids.geometry || typeOid === oids.geography
  const known = typeOid === oids.geography ? 'geography' : 'geometry'
  const pgType = isGeometry ? known : (builtInTypes.get(typeOid)?.field.pgtype ?? 'text')
  return {
    name,
    builder: isGeometry ? new BytesBuilder(new Binary(), writeWkb) : builderOf(pgType, modifier),
    isGeometry,
    pgType,
  }
}

function builderOf(pgType: string, modifier: number): ColumnBuilder {
  switch (pgType) {
    case 'bool':
      return new BoolBuilder(new Bool())
    case 'int2':
      return new NumberBuilder(new Int16(), new Int16Array(first), readWhole)
    case 'int4':
      return new NumberBuilder(new Int32(), new Int32Array(first), readWhole)
    case 'oid':
      return new NumberBuilder(new Uint32(), new Uint32Array(first), readWhole)
    case 'int8':
      return new WideBuilder(new Int64(), 64, readBig)
    case 'float4':
      return new NumberBuilder(new Float32(), new Float32Array(first), readFloat)
    case 'float8':
      return new NumberBuilder(new Float64(), new Float64Array(first), readFloat)
    case 'numeric':
      return numericBuilder(modifier)
    case 'date':
      return new NumberBuilder(new DateDay(), new Int32Array(first), readDay)
    case 'timestamp':
      return new WideBuilder(new Timestamp(TimeUnit.MICROSECOND), 64, readMicros)
    case 'timestamptz':
      return new WideBuilder(new Timestamp(TimeUnit.MICROSECOND, 'UTC'), 64, readMicros)
    case 'bytea':
      return new BytesBuilder(new Binary(), writeBytea)
    default:
      return new BytesBuilder(new Utf8())
  }
}

const first = 1024

/** `numeric(10,2)` is a decimal; without a declared scale, or with more digits than Arrow's 38, it is text. */
function numericBuilder(modifier: number): ColumnBuilder {
  const precision = (modifier - 4) >> 16
  const scale = (modifier - 4) & 0x7ff
  const isDecimal = modifier >= 4 && precision <= 38 && scale <= precision
  return isDecimal
    ? new WideBuilder(new Decimal(scale, precision, 128), 128, readDecimal)
    : new BytesBuilder(new Utf8())
}

/** `srid`: of the geometries, 0 if they have none. */
export function fieldOf({ name, builder, isGeometry, pgType }: ArrowColumn, srid: number): Field<DataType> {
  const metadata = new Map([['pg_type', pgType]])
  if (isGeometry) {
    metadata.set('ARROW:extension:name', 'geoarrow.wkb')
    metadata.set('ARROW:extension:metadata', JSON.stringify(geometryMetadata(pgType, srid)))
  }
  if (pgType === 'json' || pgType === 'jsonb') metadata.set('ARROW:extension:name', 'arrow.json')
  return new Field(name, builder.type, true, metadata)
}

function geometryMetadata(pgType: string, srid: number) {
  const crs = srid === 4326 ? 'OGC:CRS84' : `EPSG:${srid}`
  return {
    ...(srid > 0 && { crs, crs_type: 'authority_code' }),
    ...(pgType === 'geography' && { edges: 'spherical' }),
  }
}
