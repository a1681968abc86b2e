import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { grantsOf, keyRolesOf, keysClient, roleOf, tablesOf } from '../support/keys/keys-client.ts'
import { cases } from '../support/search/cases.ts'
import { type Setup, setup, type TestUser } from '../support/service/setup.ts'

const tableNames = ['t1', 't2', 't3'] as const
const keyNames = ['a', 'b'] as const
const permissions = ['select', 'insert', 'update', 'delete'] as const
type Permission = (typeof permissions)[number]
type Table = (typeof tableNames)[number]
type KeyName = (typeof keyNames)[number]

type Command =
  | Readonly<{ act: 'make table'; table: Table }>
  | Readonly<{ act: 'drop table'; table: Table }>
  | Readonly<{ act: 'rename table'; table: Table; to: Table }>
  | Readonly<{ act: 'make key'; key: KeyName; tables: Partial<Record<Table, readonly Permission[]>> }>
  | Readonly<{ act: 'delete key' | 'regenerate'; key: KeyName }>
  | Readonly<{ act: 'grant' | 'revoke'; key: KeyName; table: Table; permission: Permission }>

/** An existing table is its own object: one created again under its name is another. */
type Live = { name: Table }
type Intent = { name: Table; on: Live; permissions: Set<Permission> }
type KeyModel = { token: string; intents: Intent[]; held: Map<Live, Set<Permission>> }
type Model = { tables: Set<Live>; keys: Map<KeyName, KeyModel> }

const tableNamed = (model: Model, name: Table) => [...model.tables].find((table) => table.name === name)

/** Pending grants on a table of this name take effect. */
function follow(model: Model, table: Live): void {
  for (const { intents, held } of model.keys.values()) {
    for (const intent of intents) {
      if (intent.on === table) intent.name = table.name
      if (intent.name !== table.name || model.tables.has(intent.on)) continue
      intent.on = table
      held.set(table, new Set([...(held.get(table) ?? []), ...intent.permissions]))
    }
  }
}

/** Runs a command on the service, and changes the model as the documentation says. */
async function perform(context: Setup, user: TestUser, model: Model, command: Command): Promise<void> {
  switch (command.act) {
    case 'make table':
    case 'drop table':
    case 'rename table':
      return performOnTable(user, model, command)
    case 'make key':
      return makeKey(user, model, command)
    case 'delete key': {
      const answer = await keysClient(user).remove(command.key)
      assert.equal(answer.status, model.keys.delete(command.key) ? 200 : 404)
      return
    }
    case 'regenerate': {
      const known = model.keys.get(command.key)
      const answer = await keysClient(user).regenerate(command.key)
      assert.equal(answer.status, known ? 200 : 404)
      if (!known) return
      assert.equal(await sqlStatus(user, known.token), 401)
      known.token = answer.body.token
      return
    }
    case 'grant':
    case 'revoke':
      return grantOrRevoke(context, user, model, command)
  }
}

type Act<Name extends Command['act']> = Extract<Command, { act: Name }>
type OnTable = Act<'make table' | 'drop table' | 'rename table'>

async function performOnTable(user: TestUser, model: Model, command: OnTable): Promise<void> {
  const table = tableNamed(model, command.table)
  if (command.act === 'make table') {
    if (table) return
    await user.sql(`create table ${command.table} (id serial)`)
    const made = { name: command.table }
    model.tables.add(made)
    return follow(model, made)
  }
  if (!table) return
  if (command.act === 'drop table') {
    await user.sql(`drop table ${command.table}`)
    model.tables.delete(table)
    return
  }
  if (tableNamed(model, command.to)) return
  await user.sql(`alter table ${command.table} rename to ${command.to}`)
  table.name = command.to
  return follow(model, table)
}

async function makeKey(user: TestUser, model: Model, command: Act<'make key'>): Promise<void> {
  const wanted = Object.entries(command.tables) as [Table, Permission[]][]
  const answer = await keysClient(user).create(command.key, grantsOf(Object.fromEntries(wanted)))
  const isPossible = !model.keys.has(command.key) && wanted.every(([name]) => tableNamed(model, name))
  assert.equal(answer.status, isPossible ? 201 : 422)
  if (!isPossible) return
  const intents = wanted.map(([name, given]) => ({
    name,
    on: tableNamed(model, name)!,
    permissions: new Set(given),
  }))
  const held = new Map(intents.map(({ on, permissions: given }) => [on, new Set(given)]))
  model.keys.set(command.key, { token: answer.body.token, intents, held })
}

async function grantOrRevoke(
  context: Setup,
  user: TestUser,
  model: Model,
  command: Act<'grant' | 'revoke'>,
): Promise<void> {
  const known = model.keys.get(command.key)
  const table = tableNamed(model, command.table)
  if (!known || !table) return
  const role = await roleOf(context, user, command.key)
  const direction = command.act === 'grant' ? 'to' : 'from'
  await user.sql(`${command.act} ${command.permission} on ${command.table} ${direction} "${role}"`)
  const held = known.held.get(table) ?? new Set()
  if (command.act === 'grant') held.add(command.permission)
  else {
    held.delete(command.permission)
    for (const intent of known.intents) if (intent.on === table) intent.permissions.delete(command.permission)
  }
  known.held.set(table, held)
}

/** Checks that catalogs, control database and answers agree with the model. */
async function check(context: Setup, user: TestUser, model: Model): Promise<void> {
  const { body } = await keysClient(user).list('?type=regular&order=name')
  assert.equal(body.total, model.keys.size)
  const documents = body.result as Parameters<typeof tablesOf>[0][]
  assert.deepEqual(
    documents.map((document) => [document.name, document.token, tablesOf(document)]),
    [...model.keys].sort().map(([name, { token, held }]) => [name, token, expectedTables(model, held)]),
  )
  const recorded = await context.service.services.databases.control.query<{ role_name: string }>(
    `select role_name from cartage.api_keys where user_id = $1 and type = 'regular' order by role_name`,
    [user.account.userId],
  )
  const roles = recorded.rows.map((row) => row.role_name)
  assert.deepEqual(await keyRolesOf(context, user), roles)
  const inside = await context.admin(
    `select role_name from cartage.roles where key_type = 'regular' order by role_name`,
    [],
    user.account.database,
  )
  assert.deepEqual(
    inside.rows.map((row) => row.role_name),
    roles,
  )
  for (const { token, held } of model.keys.values()) {
    for (const table of model.tables) {
      const isReadable = held.get(table)?.has('select') ?? false
      assert.equal(await sqlStatus(user, token, `select * from ${table.name}`), isReadable ? 200 : 403)
    }
  }
}

function expectedTables(model: Model, held: KeyModel['held']): Record<string, string> {
  const entries = [...held]
    .filter(([table, given]) => model.tables.has(table) && given.size > 0)
    .map(([table, given]) => [`public.${table.name}`, [...given].sort().join()])
  return Object.fromEntries(entries.sort())
}

const sqlStatus = async (user: TestUser, token: string, q = 'select 1') =>
  (await fetch(`${user.base}/api/v2/sql?${new URLSearchParams({ q, api_key: token })}`)).status

async function sweep(user: TestUser): Promise<void> {
  for (const key of keyNames) await keysClient(user).remove(key)
  await user.sql(`drop table if exists ${tableNames.join()}`)
}

const table = fc.constantFrom(...tableNames)
const key = fc.constantFrom(...keyNames)
const permission = fc.constantFrom(...permissions)
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ act: fc.constant('make table' as const), table }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('drop table' as const), table }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('rename table' as const), table, to: table }) },
  {
    weight: 3,
    arbitrary: fc.record({
      act: fc.constant('make key' as const),
      key,
      tables: fc.dictionary(table, fc.subarray([...permissions]), { maxKeys: 2 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ act: fc.constantFrom('delete key' as const, 'regenerate' as const), key }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constantFrom('grant' as const, 'revoke' as const),
      key,
      table,
      permission,
    }),
  },
)

test('any sequence of acts on keys and tables keeps catalogs, control database and answers consistent', async (t) => {
  const context = await setup(t)
  const { user } = context
  const property = fc
    .asyncProperty(fc.array(command, { minLength: 8, maxLength: 20 }), async (commands) => {
      const model: Model = { tables: new Set(), keys: new Map() }
      // So that keys have tables from the first act on.
      for (const name of tableNames) await perform(context, user, model, { act: 'make table', table: name })
      for (const each of commands) await perform(context, user, model, each)
      await check(context, user, model)
    })
    .afterEach(() => sweep(user))
  await fc.assert(property, { numRuns: cases(8), endOnFailure: true })
})
