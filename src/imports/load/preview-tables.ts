import type { ImportPreview, ReferenceSystemDocument } from '../../contract/documents.ts'
import { quoteName } from '../../contract/text/quote.ts'
import { sqlstate } from '../../postgres/sqlstate.ts'
import type { ImportResult } from '../import-record.ts'
import { DatabaseFault } from './database-fault.ts'
import { readGeometry } from './finish-tables.ts'
import type { Loading, Stage } from './loading.ts'
import { inSavepoint, queryInCatalog } from './run-statement.ts'
import { stageName } from './stage-table.ts'

/** Tells of the loaded tables what they would be. */
export async function previewTables(loading: Loading): Promise<ImportResult> {
  const preview: ImportPreview[] = []
  for (const stage of loading.stages) {
    await readGeometry(loading, stage)
    preview.push(await previewOf(loading, stage))
    loading.meter.tablesDone++
  }
  return { tables: [], created: 0, warnings: loading.warnings.document, preview }
}

async function previewOf(loading: Loading, stage: Stage): Promise<ImportPreview> {
  const { wanted, layer = null, rows, columns } = stage
  const values = columns.slice(0, mostColumns).map(({ name, type }) => {
    const value = quoteName(name)
    return `left(${isGeometry(type) ? `postgis.ST_AsText(${value}, 5)` : `${value}::text`}, ${mostLetters})`
  })
  const found = await queryInCatalog<{ values: (string | null)[] }>(
    loading.session,
    `select array[${values.join(', ')}]::text[] as values from ${stageName(loading, stage)}
     order by ${stage.line ?? 'ctid'} limit ${mostRows}`,
  )
  return {
    table: wanted,
    layer,
    rows,
    columns: columns.map(({ name, type }) => ({ name, type: type.replace(/^postgis\./, '') })),
    first_rows: found.map((row) => row.values),
    encoding: stage.origin?.encoding ?? null,
    reference_system: await referenceSystemOf(loading, stage),
    first_shapes: stage.geometry ? await firstShapes(loading, stage) : [],
  }
}

async function referenceSystemOf(
  { session }: Loading,
  { origin }: Stage,
): Promise<ReferenceSystemDocument | null> {
  if (origin?.srid === undefined) return null
  const [found] = await queryInCatalog<ReferenceSystemDocument>(
    session,
    `select srid, (regexp_match(srtext, '^\\w+\\["([^"]+)"'))[1] as name from postgis.spatial_ref_sys where srid = $1`,
    [origin.srid],
  )
  return found ?? { srid: origin.srid > 0 ? origin.srid : null, name: null }
}

/** No shapes if one of them has no GeoJSON: a surface, or a coordinate that is not a number. */
async function firstShapes(loading: Loading, stage: Stage): Promise<ImportPreview['first_shapes']> {
  try {
    return await inSavepoint(loading.session, () => readShapes(loading, stage))
  } catch (error) {
    if (!(error instanceof DatabaseFault) || error.sqlstate === sqlstate.queryCanceled) throw error
    return []
  }
}

/** The first shapes, as many as a small map can show. */
async function readShapes(loading: Loading, stage: Stage): Promise<ImportPreview['first_shapes']> {
  const found = await queryInCatalog<{ shape: Record<string, unknown> }>(
    loading.session,
    `with first as (
       select row_number() over () as place, the_geom from (
         select the_geom from ${stageName(loading, stage)}
         where the_geom is not null and not postgis.ST_IsEmpty(the_geom) order by ${stage.line ?? 'ctid'} limit ${mostShapes}) one
     ), seen as (
       select greatest(postgis.ST_XMax(box) - postgis.ST_XMin(box), postgis.ST_YMax(box) - postgis.ST_YMin(box)) / 500 as step
       from (select postgis.ST_Extent(the_geom) as box from first) whole
     ), drawn as (
       select place, postgis.ST_AsGeoJSON(postgis.ST_Simplify(the_geom, step, true), 5) as text from first, seen
     )
     select text::json as shape
     from (select place, text, sum(length(text)) over (order by place) as letters from drawn) measured
     where letters <= ${mostShapeLetters} order by place`,
  )
  return found.map(({ shape }) => shape)
}

const mostShapes = 100
const mostShapeLetters = 64 * 1024

const isGeometry = (type: string) => type.startsWith('postgis.geometry')

const mostRows = 5
const mostColumns = 50
const mostLetters = 100
