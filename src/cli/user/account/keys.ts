import type { DatabaseGrant, Grant, KeyChanges, KeyDocument } from '../../../contract/documents.ts'
import { apis, schemaPermissions, shownPermissions, type TablePermission } from '../../../contract/grants.ts'
import { readFroms } from '../../../contract/key-names.ts'
import { confirm } from '../../ask.ts'
import { yesOption } from '../../command.ts'
import { UsageError } from '../../command-error.ts'
import { readNamedFile } from '../../named-file.ts'
import { textOf } from '../../option-values.ts'
import { shellWord } from '../../printable.ts'
import type { UserCall, UserCommand } from '../command.ts'
import { printList, printRecord } from '../output/list.ts'
import { type Service, withService } from '../service.ts'
import { readTableName, usualSchema } from '../table-name.ts'
import { keyCan } from './key-can.ts'

const keyArgument = [{ name: 'KEY', kind: 'key' }] as const

const list: UserCommand = {
  name: 'key list',
  summary: 'list the keys of the account',
  run: (call) =>
    withService(call, async ({ client }) => {
      const rows = []
      for (let page = 1; ; page++) {
        const { keys, total } = await client.keys.listFull({ page, per_page: 100, order: 'name' })
        rows.push(
          ...keys.map(({ name, type, created_at, expires_at, last_used_at, grants }) => ({
            name,
            type,
            created_at,
            expires_at,
            last_used_at,
            may: describe(grants),
          })),
        )
        if (keys.length === 0 || rows.length >= total) break
      }
      await printList(call, rows, 'There are no keys')
    }),
}

/** The grants of a key in one line. */
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
      const { token: _hidden, ...key } = await client.keys.details(call.args[0]!)
      await printRecord(call, key)
    }),
}

const token: UserCommand = {
  name: 'key token',
  summary: 'print the token of a key',
  arguments: keyArgument,
  run: (call) =>
    withService(call, async ({ client }) => {
      const { token } = await client.keys.read(call.args[0]!)
      return { document: { token }, lines: [token] }
    }),
}

const grantOptions = {
  read: { type: 'string', value: 'T,…', kind: 'table', help: 'tables that the key may read' },
  write: { type: 'string', value: 'T,…', kind: 'table', help: 'tables that the key may read and change' },
  create: { type: 'string', value: 'SCHEMA', help: 'schema where the key may create tables' },
  grants: {
    type: 'string',
    value: 'FILE',
    kind: 'file',
    help: 'JSON file with all grants, instead of the options above',
  },
} as const

const columnOptions = {
  description: { type: 'string', value: 'TEXT', help: 'what the key is for' },
  expires: {
    type: 'string',
    value: 'TIME|never',
    help: 'when it stops working, such as 2027-01-31T10:00:00Z',
  },
  'read-from': { type: 'string', value: 'primary|replica', help: 'which servers answer its reads' },
} as const

const create: UserCommand = {
  name: 'key create',
  summary: 'create a key',
  arguments: [{ name: 'KEY', kind: 'text' }],
  options: { ...grantOptions, ...columnOptions },
  details: ['  cartage key create reader --read places,quakes', '  cartage key can reader'],
  run: (call) =>
    withService(call, async (service) => {
      const grants = await wantedGrants(call, service)
      const key = { name: call.args[0]!, grants, ...wantedColumns(call) }
      return made(call, await service.client.keys.createFull(key))
    }),
}

const set: UserCommand = {
  name: 'key set',
  summary: 'change grants, description, expiry or read-from of a key',
  arguments: keyArgument,
  options: { ...grantOptions, ...columnOptions },
  details: [
    'Grants replace all that the key had:',
    '  cartage key set reader --read places --expires 2027-01-31T10:00:00Z',
  ],
  run: (call) =>
    withService(call, async (service) => {
      const name = call.args[0]!
      const isGranting = Object.keys(grantOptions).some((option) => call.values[option] !== undefined)
      const changes = {
        ...(isGranting && { grants: await wantedGrants(call, service) }),
        ...wantedColumns(call),
      }
      if (Object.keys(changes).length === 0) throw new UsageError('give at least one thing to change')
      const { token: _hidden, ...key } = await service.client.keys.change(name, changes)
      if (call.values.json || !call.terminal.out.isTerminal) await printRecord(call, key)
      call.terminal.say(`changed ${name}`)
    }),
}

function wantedColumns({ values }: UserCall): Omit<KeyChanges, 'grants'> {
  const [description, expires] = [textOf(values, 'description'), textOf(values, 'expires')]
  const readFrom = textOf(values, 'read-from')
  const read_from = readFroms.find((known) => known === readFrom)
  if (readFrom !== undefined && !read_from)
    throw new UsageError(`--read-from must be ${readFroms.join(' or ')}`)
  return {
    ...(read_from && { read_from }),
    ...(description !== undefined && { description }),
    ...(expires !== undefined && { expires_at: expires === 'never' ? null : expires }),
  }
}

async function wantedGrants({ values }: UserCall, service: Service): Promise<readonly Grant[]> {
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

/** The service checks the grants themselves. */
async function readGrants(file: string): Promise<readonly Grant[]> {
  const text = await readNamedFile(file)
  try {
    const grants: unknown = JSON.parse(text)
    if (Array.isArray(grants)) return grants
  } catch {
    // Refused below.
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

async function made(call: UserCall, { token: _hidden, ...key }: KeyDocument): Promise<void> {
  if (call.values.json || !call.terminal.out.isTerminal) await printRecord(call, key)
  call.terminal.say(`created ${key.name}. Its token: cartage key token ${shellWord(key.name)}`)
}

const like: UserCommand = {
  name: 'key like',
  summary: 'create a key with the grants of another',
  arguments: [...keyArgument, { name: 'NEW', kind: 'text' }],
  run: (call) =>
    withService(call, async ({ client }) => {
      const [name, other] = call.args as [string, string]
      const { grants } = await client.keys.read(name)
      return made(call, await client.keys.create({ name: other, grants }))
    }),
}

const invite: UserCommand = {
  name: 'key invite',
  summary: 'make a link that gives a colleague the key, once',
  arguments: keyArgument,
  options: {
    until: { type: 'string', value: 'TIME', help: 'when the link ends; by default 7 days from now' },
    withdraw: { type: 'boolean', help: 'make the link that is out there useless' },
  },
  details: [
    'The key gets a new token when the link is used; the old one stops working then.',
    '  cartage key create ana --read places && cartage key invite ana',
  ],
  run: (call) =>
    withService(call, async ({ client }) => {
      const name = call.args[0]!
      const until = textOf(call.values, 'until')
      if (call.values.withdraw) {
        if (until !== undefined) throw new UsageError('--withdraw and --until do not go together')
        await client.keys.withdrawInvitation(name)
        call.terminal.say(`withdrew the invitation to ${name}`)
        return undefined
      }
      const invitation = await client.keys.invite(name, until === undefined ? {} : { expires_at: until })
      return { document: invitation, lines: [invitation.url] }
    }),
}

const regenerate: UserCommand = {
  name: 'key regenerate',
  summary: 'give a key a new token; the old one stops working at once',
  arguments: keyArgument,
  options: yesOption,
  run: async (call) => {
    const name = call.args[0]!
    const loss = `The token of ${name} stops working at once`
    await confirm(call, { name, loss, verb: 'replace' })
    return withService(call, async ({ client }) => {
      await client.keys.regenerate(name)
      call.terminal.say(`${name} has a new token: cartage key token ${shellWord(name)}`)
    })
  },
}

const remove: UserCommand = {
  name: 'key delete',
  summary: 'delete a key; its token stops working at once',
  arguments: keyArgument,
  options: yesOption,
  run: async (call) => {
    const name = call.args[0]!
    await confirm(call, { name, loss: `This deletes the key ${name}`, verb: 'delete' })
    return withService(call, async ({ client }) => {
      await client.keys.delete(name)
      call.terminal.say(`deleted ${name}`)
    })
  },
}

export const keyCommands: readonly UserCommand[] = [
  list,
  show,
  token,
  create,
  set,
  like,
  invite,
  regenerate,
  remove,
  keyCan,
]
