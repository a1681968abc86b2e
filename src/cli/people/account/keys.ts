import { readFile } from 'node:fs/promises'
import { createClient } from '../../../client/client.ts'
import type { DatabaseGrant, Grant, KeyDocument } from '../../../client/documents.ts'
import { shownName } from '../../../client/quote.ts'
import {
  knownRights,
  permissions,
  schemaRightsSql,
  type TableRights,
  tableRightsSql,
} from '../../../client/rights-sql.ts'
import { UsageError } from '../../command.ts'
import { confirm } from '../ask.ts'
import { type Call, type PeopleCommand, textOf } from '../command.ts'
import { printList, printRecord } from '../output/list.ts'
import { type Service, withService } from '../service.ts'

const keyArgument = [{ name: 'KEY', kind: 'key' }] as const
const yes = { yes: { type: 'boolean', short: 'y', help: 'do not ask' } } as const

const list: PeopleCommand = {
  name: 'key list',
  summary: 'list the keys of the account',
  run: (call) =>
    withService(call, async ({ client }) => {
      const rows = []
      for (let page = 1; ; page++) {
        const { result, total } = await client.keys.list({ page, per_page: 100, order: 'name' })
        rows.push(
          ...result.map(({ name, type, created_at, grants }) => ({
            name,
            type,
            created_at,
            may: describe(grants),
          })),
        )
        if (result.length === 0 || rows.length >= total) break
      }
      await printList(call, rows, 'There are no keys')
      return 0
    }),
}

/** The grants of a key in a few words. */
function describe(grants: readonly Grant[]): string {
  const database = grants.find((grant): grant is DatabaseGrant => grant.type === 'database')
  const tables = (database?.tables ?? []).map(({ name, permissions: held }) => `${name} (${held.join(', ')})`)
  const schemas = (database?.schemas ?? []).map(({ name }) => `create in ${name}`)
  return [...tables, ...schemas].join(', ')
}

const show: PeopleCommand = {
  name: 'key show',
  summary: 'show a key and its grants, not its token',
  arguments: keyArgument,
  run: (call) =>
    withService(call, async ({ client }) => {
      const { token: _hidden, ...key } = await client.keys.read(call.args[0]!)
      await printRecord(call, key)
      return 0
    }),
}

const token: PeopleCommand = {
  name: 'key token',
  summary: 'print the token of a key',
  arguments: keyArgument,
  run: (call) =>
    withService(call, async ({ client }) => {
      const key = await client.keys.read(call.args[0]!)
      call.terminal.out.stream.write(
        `${call.values.json ? JSON.stringify({ token: key.token }) : key.token}\n`,
      )
      return 0
    }),
}

const create: PeopleCommand = {
  name: 'key create',
  summary: 'make a key',
  arguments: [{ name: 'KEY', kind: 'text' }],
  options: {
    read: { type: 'string', value: 'T,…', kind: 'table', help: 'tables that it may read' },
    write: { type: 'string', value: 'T,…', kind: 'table', help: 'tables that it may read and change' },
    create: { type: 'string', value: 'SCHEMA', help: 'schema in which it may create' },
    grants: {
      type: 'string',
      value: 'FILE',
      kind: 'file',
      help: 'a JSON file with the whole list of grants',
    },
  },
  details: ['  cartage key create reader --read places,quakes', '  cartage key can reader'],
  run: (call) =>
    withService(call, async (service) => {
      const grants = await wantedGrants(call, service)
      return made(call, await service.client.keys.create({ name: call.args[0]!, grants }))
    }),
}

async function wantedGrants({ values }: Call, service: Service): Promise<readonly Grant[]> {
  const file = textOf(values, 'grants')
  if (file !== undefined) {
    const grants: unknown = JSON.parse(await readFile(file, 'utf8'))
    if (!Array.isArray(grants)) throw new UsageError(`${file} must hold a JSON array of grants`)
    return grants as Grant[]
  }
  const [read, write, schema] = ['read', 'write', 'create'].map((option) => textOf(values, option))
  const usual = await usualSchema(service)
  const tables = [...tablesIn(read, usual, ['select']), ...tablesIn(write, usual, permissions)]
  const schemas = schema === undefined ? [] : [{ name: schema, permissions: ['create'] as const }]
  return [
    { type: 'apis', apis: ['sql', 'maps'] },
    { type: 'database', tables, ...(schemas.length > 0 && { schemas }) },
  ]
}

/** Where names without a schema lead: `public`, or the schema of the member of an organization. */
async function usualSchema({ client, signal }: Service): Promise<string> {
  const { rows } = await client.sql<{ schema: string }>('select pg_catalog.current_schema() as schema', {
    signal,
  })
  return rows[0]!.schema
}

function tablesIn(
  names: string | undefined,
  usual: string,
  held: NonNullable<DatabaseGrant['tables']>[number]['permissions'],
) {
  return (names ?? '')
    .split(',')
    .filter(Boolean)
    .map((name) => {
      const [schema, table] = name.includes('.') ? name.split('.', 2) : [usual, name]
      return { schema: schema!, name: table!, permissions: held }
    })
}

async function made(call: Call, { token: _hidden, ...key }: KeyDocument): Promise<number> {
  if (call.values.json || !call.terminal.out.isTerminal) await printRecord(call, key)
  call.terminal.say(`${key.name} is made. Its token: cartage key token ${key.name}`)
  return 0
}

const like: PeopleCommand = {
  name: 'key like',
  summary: 'make a key with the grants of another',
  arguments: [...keyArgument, { name: 'NEW', kind: 'text' }],
  run: (call) =>
    withService(call, async ({ client }) => {
      const [name, other] = call.args as [string, string]
      const { grants } = await client.keys.read(name)
      return made(call, await client.keys.create({ name: other, grants }))
    }),
}

const regenerate: PeopleCommand = {
  name: 'key regenerate',
  summary: 'give a key a new token; the old one stops working at once',
  arguments: keyArgument,
  options: yes,
  run: async (call) => {
    const name = call.args[0]!
    await confirm(call.terminal, name, `A new token for ${name}`, call.values.yes === true)
    return withService(call, async ({ client }) => {
      await client.keys.regenerate(name)
      call.terminal.say(`${name} has a new token: cartage key token ${name}`)
      return 0
    })
  },
}

const remove: PeopleCommand = {
  name: 'key delete',
  summary: 'delete a key; who uses it is refused at once',
  arguments: keyArgument,
  options: yes,
  run: async (call) => {
    const name = call.args[0]!
    await confirm(call.terminal, name, `Deleting ${name}`, call.values.yes === true)
    return withService(call, async ({ client }) => {
      await client.keys.delete(name)
      call.terminal.say(`${name} is deleted`)
      return 0
    })
  },
}

const can: PeopleCommand = {
  name: 'key can',
  summary: 'ask the database what a key may do, with its own token',
  arguments: keyArgument,
  options: { all: { type: 'boolean', help: 'also tables with which it may do nothing' } },
  details: ['Every right is the key’s own, or public to all.'],
  run: (call) =>
    withService(call, async (service) => {
      const key = await service.client.keys.read(call.args[0]!)
      if (!key.grants.some((grant) => grant.type === 'apis' && grant.apis.includes('sql')))
        throw new UsageError(`${key.name} was not given the API sql: every statement is refused`)
      const [tables, publicTables, schemas] = await Promise.all([
        askAs<TableRights>(service, key.token, tableRightsSql),
        askAs<TableRights>(service, 'default_public', tableRightsSql),
        askAs<{ name: string }>(service, key.token, schemaRightsSql),
      ])
      const rows = knownRights(tables, publicTables)
        .filter(({ rights }) => call.values.all || Object.keys(rights).length > 0)
        .map(({ schema, name, rights }) => ({
          table: `${shownName(schema)}.${shownName(name)}`,
          ...Object.fromEntries(
            permissions.map((permission) => [permission, shownRight(rights[permission])]),
          ),
        }))
      await printList(call, rows, 'It may do nothing with any table')
      const names = schemas.map(({ name }) => shownName(name))
      call.terminal.say(
        names.length === 0 ? 'It may create nothing.' : `It may create in ${names.join(', ')}.`,
      )
      return 0
    }),
}

type Known = ReturnType<typeof knownRights>[number]['rights']['select']

const shownRight = (known: Known) =>
  known ? `${known.source}${known.right === 'columns' ? ', some columns' : ''}` : 'no'

/** The same statement, the real role. */
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

export const keyCommands: readonly PeopleCommand[] = [
  list,
  show,
  token,
  create,
  like,
  regenerate,
  remove,
  can,
]
