import type { ImportPreview } from '../../contract/documents.ts'
import { quoteIdentifier } from '../../postgres/quote.ts'
import type { ImportResult } from '../import-record.ts'
import { readGeometry } from './finish-tables.ts'
import type { Loading, Stage } from './loading.ts'
import { queryInCatalog } from './run-statement.ts'
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
    const value = quoteIdentifier(name)
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
  }
}

const isGeometry = (type: string) => type.startsWith('postgis.geometry')

const mostRows = 5
const mostColumns = 50
const mostLetters = 100
