import { createClient } from '../../../client/client.ts'
import { shownPermissions } from '../../../contract/grants.ts'
import { defaultToken } from '../../../contract/key-names.ts'
import {
  knownRights,
  schemaRightsSql,
  type TableRights,
  tableRightsSql,
} from '../../../contract/rights-sql.ts'
import { shownName } from '../../../contract/text/quote.ts'
import { UsageError } from '../../command-error.ts'
import type { UserCommand } from '../command.ts'
import { printList } from '../output/list.ts'
import { type Service, withService } from '../service.ts'

export const keyCan: UserCommand = {
  name: 'key can',
  summary: 'ask the database what a key may do',
  arguments: [{ name: 'KEY', kind: 'key' }],
  options: { all: { type: 'boolean', help: 'also tables that the key may not use' } },
  details: [
    'The statements run with the token of the key. Each right is granted to the key, or public to everyone.',
  ],
  run: (call) =>
    withService(call, async (service) => {
      const key = await service.client.keys.read(call.args[0]!)
      if (!key.grants.some((grant) => grant.type === 'apis' && grant.apis.includes('sql')))
        throw new UsageError(`${key.name} has no grant for the API sql: every statement is refused`)
      const [tables, publicTables, schemas] = await Promise.all([
        askAs<TableRights>(service, key.token, tableRightsSql),
        askAs<TableRights>(service, defaultToken, tableRightsSql),
        askAs<{ name: string }>(service, key.token, schemaRightsSql),
      ])
      const rows = knownRights(tables, publicTables)
        .filter(({ rights }) => call.values.all || Object.keys(rights).length > 0)
        .map(({ schema, name, rights }) => ({
          table: `${shownName(schema)}.${shownName(name)}`,
          ...Object.fromEntries(
            shownPermissions.map((permission) => [permission, shownRight(rights[permission])]),
          ),
        }))
      await printList(call, rows, 'The key cannot use any table')
      const names = schemas.map(({ name }) => shownName(name))
      call.terminal.say(
        names.length === 0 ? 'It cannot create tables.' : `It may create tables in ${names.join(', ')}.`,
      )
    }),
}

type Known = ReturnType<typeof knownRights>[number]['rights']['select']

const shownRight = (known: Known) =>
  known ? `${known.source}${known.right === 'columns' ? ', some columns' : ''}` : 'no'

/** Runs the statement with the token, so PostgreSQL itself checks the rights of the role. */
async function askAs<Row>(
  { url, user, signal }: Service,
  token: string,
  statement: string,
): Promise<readonly Row[]> {
  const client = createClient({ baseUrl: url, username: user, token })
  try {
    return (await client.sql<Row>(statement, { signal })).rows
  } finally {
    client.close()
  }
}
