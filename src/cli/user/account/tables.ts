import type { TableDocument } from '../../../contract/documents.ts'
import type { Privacy } from '../../../contract/table-names.ts'
import { formatBytes, formatCount } from '../../../contract/text/format.ts'
import { quoteLiteral } from '../../../contract/text/quote.ts'
import type { UserCall, UserCommand } from '../command.ts'
import { runToEnd } from '../jobs/follow-job.ts'
import { printList } from '../output/list.ts'
import { type Service, withService } from '../service.ts'
import { findTable, readTableName, usualSchema } from '../table-name.ts'

const tableArgument = [{ name: 'TABLE', kind: 'table' }] as const

const list: UserCommand = {
  name: 'table list',
  summary: 'list the tables that the key may see',
  run: (call) =>
    withService(call, async ({ client }) => {
      const rows = (await allTables(client)).map((one) => tableRow(call, one))
      await printList(call, rows, 'No tables yet: cartage import creates one from a file')
    }),
}

/** All pages of the list, ordered by name. */
export async function allTables(client: Service['client']): Promise<readonly TableDocument[]> {
  const tables: TableDocument[] = []
  for (let page = 1; ; page++) {
    const { visualizations, total_entries } = await client.tables.list({
      page,
      per_page: 100,
      order: 'name',
      order_direction: 'asc',
    })
    tables.push(...visualizations)
    if (visualizations.length === 0 || tables.length >= total_entries) return tables
  }
}

/** Rounded figures on a terminal, exact ones elsewhere. */
function tableRow({ terminal, values }: UserCall, { name, privacy, updated_at, table }: TableDocument) {
  const { size, row_count } = table
  const rows = row_count === null ? 'not counted yet' : `about ${formatCount(Number(row_count))}`
  const isForPeople = terminal.out.isTerminal && !values.json
  return {
    name,
    privacy: privacy.toLowerCase(),
    rows: isForPeople ? rows : row_count,
    size: isForPeople ? formatBytes(Number(size)) : size,
    updated_at,
  }
}

const show: UserCommand = {
  name: 'table show',
  summary: 'show the columns of a table',
  arguments: tableArgument,
  run: (call) => withService(call, (service) => showTable(call, service, call.args[0]!)),
}

export async function showTable(call: UserCall, service: Service, table: string): Promise<void> {
  const { client, signal } = service
  const { rows } = await client.sql(columnsSql(await findTable(service, table)), { signal })
  await printList(call, rows, 'The table has no columns')
}

const columnsSql = (table: string) => `
select a.attname as column, pg_catalog.format_type(a.atttypid, a.atttypmod) as type, not a.attnotnull as nullable,
  pg_catalog.pg_get_expr(d.adbin, d.adrelid) as default, pg_catalog.col_description(a.attrelid, a.attnum) as comment
from pg_catalog.pg_attribute a
left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
where a.attrelid = ${quoteLiteral(table)}::pg_catalog.regclass and a.attnum > 0 and not a.attisdropped
order by a.attnum`

const makePublic = privacyCommand('public', 'make a table readable without a key', 'PUBLIC')
const makePrivate = privacyCommand('private', 'make a table private again', 'PRIVATE')

function privacyCommand(verb: string, summary: string, privacy: Privacy): UserCommand {
  return {
    name: `table ${verb}`,
    summary,
    arguments: tableArgument,
    run: (call) =>
      withService(call, async (service) => {
        const { name } = await service.client.tables.setPrivacy(
          await ownTable(service, call.args[0]!),
          privacy,
        )
        call.terminal.say(`${name} is ${verb}`)
      }),
  }
}

/** The name in the list of the service: without the schema, unless it is another one. */
async function ownTable(service: Service, text: string): Promise<string> {
  const { schema, name } = readTableName(text)
  return schema === undefined || schema === (await usualSchema(service)) ? name : `${schema}.${name}`
}

const prepare: UserCommand = {
  name: 'table prepare',
  summary: 'prepare a table for maps, in a batch job',
  arguments: tableArgument,
  run: (call) =>
    withService(call, async (service) => {
      const table = await findTable(service, call.args[0]!)
      const statement = `select CDB_CartodbfyTable(${quoteLiteral(table)}::regclass)`
      const analyze = `analyze ${table}`
      return runToEnd(
        call,
        service,
        await service.client.jobs.create({ query: [{ query: statement }, { query: analyze }] }),
      )
    }),
}

export const tableCommands: readonly UserCommand[] = [list, show, makePublic, makePrivate, prepare]
