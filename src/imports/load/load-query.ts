import { quoteQualified } from '../../contract/text/quote.ts'
import { oneSelect } from '../../sql/one-select.ts'
import { ImportFailure } from '../import-failure.ts'
import { type ImportSource, knownTable } from '../import-record.ts'
import { DatabaseFault } from './database-fault.ts'
import type { Loading, Stage } from './loading.ts'
import { inCallersPath, queryInCatalog } from './run-statement.ts'
import { stageName } from './stage-table.ts'

/** Makes a table of the rows of a SELECT, or of another table. */
export async function loadQuery(
  loading: Loading,
  source: Extract<ImportSource, { type: 'sql' | 'table' }>,
): Promise<void> {
  const { session, account, importId, options, stages, meter } = loading
  const query =
    source.type === 'sql'
      ? selectIn(source.sql)
      : `select * from ${quoteQualified(account.schema, source.table)}`
  const wanted = knownTable(source, options)!
  const name = `import_${importId.replaceAll('-', '').slice(0, 12)}_1`
  const empty = { name, wanted, columns: [], geometry: undefined, isGenerated: false, rows: 0 }
  meter.tablesTotal = 1
  try {
    const text = `create table ${stageName(loading, empty)} as ${query}`
    await inCallersPath(session, () => queryInCatalog(session, text))
  } catch (error) {
    if (!(error instanceof DatabaseFault) || !/^(42|22|0A|2F)/.test(error.sqlstate)) throw error
    throw new ImportFailure(8003, error.message, { cause: error })
  }
  const stage: Stage = { ...empty, columns: await columnsOf(loading, empty) }
  const [counted] = await queryInCatalog<{ rows: string }>(
    session,
    `select count(*) as rows from ${stageName(loading, stage)}`,
  )
  stage.rows = Number(counted!.rows)
  meter.rowsTo(stage.rows)
  if (stage.rows === 0) loading.warnings.add('empty', wanted)
  stages.push(stage)
}

function selectIn(text: string): string {
  const select = oneSelect(text)
  if (!select.ok) throw new ImportFailure(8003, select.message ?? 'sql must be one SELECT')
  return select.text
}

/** Drops the second geometry, which is computed again, and returns the other columns. */
async function columnsOf(loading: Loading, stage: Stage): Promise<Stage['columns']> {
  await queryInCatalog(
    loading.session,
    `alter table ${stageName(loading, stage)} drop column if exists the_geom_webmercator`,
  )
  return queryInCatalog<{ name: string; type: string }>(
    loading.session,
    `select attname as name, pg_catalog.format_type(atttypid, atttypmod) as type from pg_catalog.pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    [stageName(loading, stage)],
  )
}
