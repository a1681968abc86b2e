/** What the statements of GDAL's PGDUMP driver say. They are read for names and types, and never executed. */
export type DumpStatement =
  | Readonly<{ kind: 'nothing' }>
  | Readonly<{ kind: 'create'; layer: string; fid: string }>
  | Readonly<{ kind: 'geometry'; layer: string; column: string; srid: number }>
  | Readonly<{ kind: 'column'; layer: string; column: string; type: string }>
  | Readonly<{ kind: 'copy'; layer: string; columns: readonly string[] }>

/** Whether a text may be the beginning of a statement that we know. */
export const mayBegin = (text: string): boolean =>
  beginnings.some((known) => known.startsWith(text.slice(0, known.length)))

/** undefined: not a known statement, or not a whole one. */
export function readStatement(text: string): DumpStatement | undefined {
  if (text.startsWith(createPrefix)) return readCreate(text)
  if (text.startsWith('SELECT AddGeometryColumn(')) return readGeometry(text)
  if (text.startsWith('ALTER TABLE ')) return readColumn(text)
  if (text.startsWith('COPY ')) return readCopy(text)
  return ignored.some((pattern) => pattern.test(text)) ? { kind: 'nothing' } : undefined
}

const createPrefix = 'CREATE TABLE "public"."'

const beginnings = [
  'SET standard_conforming_strings = ',
  'BEGIN;',
  'COMMIT;',
  'END;',
  createPrefix,
  'SELECT AddGeometryColumn(',
  'SELECT setval(',
  'ALTER TABLE "public".',
  'COMMENT ON ',
  'COPY "public".',
]

const name = `"((?:[^"]|"")*)"`
/** Backslashes escape, as standard_conforming_strings is off. */
const string = String.raw`E?'(?:[^'\\]|''|\\[\s\S])*'`

const ignored = [
  /^SET standard_conforming_strings = (?:ON|OFF);$/,
  /^(?:BEGIN|COMMIT|END);$/,
  new RegExp(`^COMMENT ON (?:TABLE|COLUMN) ${name}(?:\\.${name}){1,2} IS (?:NULL|${string});$`),
  new RegExp(
    `^SELECT setval\\(pg_get_serial_sequence\\(${string}, ${string}\\), MAX\\(${name}\\)\\) FROM ${name}\\.${name};$`,
  ),
]

/**
 * GDAL does not double quotes here, so the name is what makes both of its places equal:
 * `CREATE TABLE "public"."NAME" ( "FID" SERIAL, CONSTRAINT "NAME_pk" PRIMARY KEY ("FID") );`
 */
function readCreate(text: string): DumpStatement | undefined {
  const key = '_pk" PRIMARY KEY ("'
  const end = '") );'
  const keyAt = text.lastIndexOf(key)
  if (keyAt < 0 || !text.endsWith(end)) return undefined
  const fid = text.slice(keyAt + key.length, -end.length)
  const names = text.slice(createPrefix.length, keyAt)
  for (const type of ['SERIAL', 'BIGSERIAL', 'SERIAL8']) {
    const between = `" ( "${fid}" ${type}, CONSTRAINT "`
    const layer = names.slice(0, Math.max(0, (names.length - between.length) / 2))
    if (names === `${layer}${between}${layer}`) return { kind: 'create', layer, fid }
  }
  return undefined
}

const geometryPattern = new RegExp(
  `^SELECT AddGeometryColumn\\('public',(${string}),(${string}),(-?\\d{1,9}),'[A-Z]{1,32}',[234]\\);$`,
)

function readGeometry(text: string): DumpStatement | undefined {
  const found = geometryPattern.exec(text)
  if (!found) return undefined
  const [, layer, column, srid] = found
  return { kind: 'geometry', layer: plainString(layer!), column: plainString(column!), srid: Number(srid) }
}

const sized = '(?:\\(\\d{1,9}(?:, ?\\d{1,9})?\\))?'
const type = `(?:(?:VARCHAR|CHAR|NUMERIC)${sized}|INTEGER|SMALLINT|INT8|FLOAT8|REAL|BOOLEAN|TEXT|JSONB?|BYTEA|UUID|DATE|TIME|TIMETZ|INTERVAL|INET|CIDR|MACADDR|TIMESTAMP(?: WITH(?:OUT)? TIME ZONE)?)(?:\\[\\])?`
const columnPattern = new RegExp(
  `^ALTER TABLE "public"\\.${name} ADD COLUMN ${name} (${type})(?: NOT NULL)?(?: UNIQUE)?;$`,
  'i',
)

function readColumn(text: string): DumpStatement | undefined {
  const found = columnPattern.exec(text)
  if (!found) return undefined
  const [, layer, column, written] = found
  return {
    kind: 'column',
    layer: plainName(layer!),
    column: plainName(column!),
    type: written!.toLowerCase(),
  }
}

const copyPattern = new RegExp(`^COPY "public"\\.${name} \\((${name}(?:, ?${name})*)?\\) FROM STDIN;$`)

function readCopy(text: string): DumpStatement | undefined {
  const found = copyPattern.exec(text)
  if (!found) return undefined
  const [, layer, columns = ''] = found
  const names = [...columns.matchAll(new RegExp(name, 'g'))].map(([, column]) => plainName(column!))
  return { kind: 'copy', layer: plainName(layer!), columns: names }
}

const plainName = (quoted: string) => quoted.replaceAll('""', '"')

const plainString = (quoted: string) =>
  quoted.replace(/^E?'|'$/g, '').replace(/''|\\([\s\S])/g, (_, escaped?: string) => escaped ?? "'")
