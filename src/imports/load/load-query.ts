import { quoteQualified } from '../../contract/text/quote.ts'
import { oneSelect } from '../../sql/one-select.ts'
import { wrapForPaging } from '../../sql/query-kind.ts'
import { ImportFailure } from '../import-failure.ts'
import { type ImportSource, knownTable } from '../import-record.ts'
import { DatabaseFault } from './database-fault.ts'
import { checkLimits, type Loading, type Stage } from './loading.ts'
import { inCallersPath, queryInCatalog } from './run-statement.ts'
import { stageName } from './stage-table.ts'

/** Makes a table of the rows of a SELECT, or of another table. */
export async function loadQuery(
  loading: Loading,
  source: Extract<ImportSource, { type: 'sql' | 'table' }>,
): Promise<void> {
  const { session, account, importId, options, stages, meter, maxRows, spend } = loading
  const query =
    source.type === 'sql'
      ? selectIn(source.sql)
      : `select * from ${quoteQualified(account.schema, source.table)}`
  const wanted = knownTable(source, options)!
  const name = `import_${importId.replaceAll('-', '').slice(0, 12)}_1`
  const empty = { name, wanted, columns: [], geometry: undefined, isGenerated: false, rows: 0 }
  meter.tablesTotal = 1
  try {
    // One row more shows that there are too many.
    const rows = maxRows > 0 ? wrapForPaging(query, { limit: maxRows + 1 }) : query
    const text = `create table ${stageName(loading, empty)} as ${rows}`
    await inCallersPath(session, () => queryInCatalog(session, text))
  } catch (error) {
    if (!(error instanceof DatabaseFault) || !/^(42|22|0A|2F)/.test(error.sqlstate)) throw error
    throw new ImportFailure(8003, error.message, { cause: error })
  }
  const stage: Stage = { ...empty, columns: await columnsOf(loading, empty) }
  const [counted] = await queryInCatalog<{ rows: string; bytes: string }>(
    session,
    `select count(*) as rows, pg_total_relation_size($1::regclass) as bytes from ${stageName(loading, stage)}`,
    [stageName(loading, stage)],
  )
  stage.rows = Number(counted!.rows)
  // PostgreSQL has checked the quota, but does not see what running uploads have not committed.
  spend(Number(counted!.bytes))
  meter.rowsTo(stage.rows)
  checkLimits(loading)
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
