import type { DatabaseGrant, Grant, KeyDocument } from '../../../contract/documents.ts'
import { apis, schemaPermissions, shownPermissions, type TablePermission } from '../../../contract/grants.ts'
import { UsageError } from '../../command.ts'
import { shellWord } from '../../printable.ts'
import { confirm } from '../ask.ts'
import { type Call, textOf, type UserCommand } from '../command.ts'
import { readNamedFile } from '../named-file.ts'
import { printList, printRecord } from '../output/list.ts'
import { type Service, withService } from '../service.ts'
import { readTableName, usualSchema } from '../table-name.ts'
import { keyCan } from './key-can.ts'

const keyArgument = [{ name: 'KEY', kind: 'key' }] as const
const yes = { yes: { type: 'boolean', short: 'y', help: 'do not ask' } } as const

const list: UserCommand = {
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

const show: UserCommand = {
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

const token: UserCommand = {
  name: 'key token',
  summary: 'print the token of a key',
  arguments: keyArgument,
  run: (call) =>
    withService(call, async ({ client }) => {
      const key = await client.keys.read(call.args[0]!)
      call.terminal.out.write(`${call.values.json ? JSON.stringify({ token: key.token }) : key.token}\n`)
      return 0
    }),
}

const create: UserCommand = {
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
  if (file !== undefined) return readGrants(file)
  const [read, write, schema] = ['read', 'write', 'create'].map((option) => textOf(values, option))
  const usual = await usualSchema(service)
  const tables = [...tablesIn(read, usual, ['select']), ...tablesIn(write, usual, shownPermissions)]
  const schemas = schema === undefined ? [] : [{ name: schema, permissions: schemaPermissions }]
  return [
    { type: 'apis', apis },
    { type: 'database', tables, ...(schemas.length > 0 && { schemas }) },
  ]
}

/** What is no grant is refused by the service, with its place. */
async function readGrants(file: string): Promise<readonly Grant[]> {
  const text = await readNamedFile(file)
  try {
    const grants: unknown = JSON.parse(text)
    if (Array.isArray(grants)) return grants
  } catch {
    // The same sentence.
  }
  throw new UsageError(`${file} must hold a JSON array of grants`)
}

function tablesIn(names: string | undefined, usual: string, held: readonly TablePermission[]) {
  return (names ?? '')
    .split(',')
    .filter(Boolean)
    .map((name) => {
      const { schema = usual, name: table } = readTableName(name)
      return { schema, name: table, permissions: held }
    })
}

async function made(call: Call, { token: _hidden, ...key }: KeyDocument): Promise<number> {
  if (call.values.json || !call.terminal.out.isTerminal) await printRecord(call, key)
  call.terminal.say(`${key.name} is made. Its token: cartage key token ${shellWord(key.name)}`)
  return 0
}

const like: UserCommand = {
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

const regenerate: UserCommand = {
  name: 'key regenerate',
  summary: 'give a key a new token; the old one stops working at once',
  arguments: keyArgument,
  options: yes,
  run: async (call) => {
    const name = call.args[0]!
    await confirm(call.terminal, name, `A new token for ${name}`, call.values.yes === true)
    return withService(call, async ({ client }) => {
      await client.keys.regenerate(name)
      call.terminal.say(`${name} has a new token: cartage key token ${shellWord(name)}`)
      return 0
    })
  },
}

const remove: UserCommand = {
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

export const keyCommands: readonly UserCommand[] = [
  list,
  show,
  token,
  create,
  like,
  regenerate,
  remove,
  keyCan,
]
