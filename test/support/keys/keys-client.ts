import assert from 'node:assert/strict'
import { basic, type Setup, type TestUser } from '../service/setup.ts'

export type Answer = Readonly<{
  status: number
  body: KeyDocument & Record<string, unknown>
  headers: Headers
}>

export type KeyDocument = Readonly<{
  name: string
  user: { username: string }
  type: string
  token: string
  grants: readonly Section[]
  created_at: string
  updated_at: string
}>

export type Section = Readonly<{
  type: string
  apis?: string[]
  tables?: readonly TableEntry[]
  schemas?: readonly { name: string; permissions: string[] }[]
  table_metadata?: unknown[]
  services?: string[]
}>

export type TableEntry = Readonly<{ schema: string; name: string; owner: boolean; permissions: string[] }>

/** The key endpoints as a client sees them: with Basic and a master token by default. */
export function keysClient(
  user: TestUser,
  headers: Record<string, string> = basic(user.username, user.masterToken),
) {
  const call = (method: string, path: string, body?: unknown) =>
    send(`${user.base}/api/v3/api_keys${path}`, { method, headers, body })
  const named = (name: string) => `/${encodeURIComponent(name)}`
  return {
    call,
    list: (query = '') => call('GET', query),
    create: (name: unknown, grants: unknown, query = '') => call('POST', query, { name, grants }),
    read: (name: string, query = '') => call('GET', named(name) + query),
    remove: (name: string, query = '') => call('DELETE', named(name) + query),
    regenerate: (name: string, query = '') => call('POST', `${named(name)}/token/regenerate${query}`),
    /** Creates a key, which must succeed, and returns its document. */
    make: async (name: string, grants: unknown = grantsOf()): Promise<KeyDocument> => {
      const { status, body } = await call('POST', '', { name, grants })
      assert.equal(status, 201, JSON.stringify(body))
      return body
    },
  }
}

export type Request = Readonly<{ method?: string; headers?: Record<string, string>; body?: unknown }>

/** Text and bytes are sent unchanged, anything else as JSON. */
export async function send(
  url: string,
  { method = 'GET', headers = {}, body }: Request = {},
): Promise<Answer> {
  const isRaw = typeof body === 'string' || body instanceof Uint8Array
  const response = await fetch(url, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: isRaw ? (body as string) : JSON.stringify(body) }),
  })
  const text = await response.text()
  return {
    status: response.status,
    body: (text === '' ? undefined : JSON.parse(text)) as Answer['body'],
    headers: response.headers,
  }
}

/** Grants on tables of schema public as `{ t: ['select'] }`, and on schemas as `['public']`. */
export function grantsOf(tables: Record<string, readonly string[]> = {}, schemas: readonly string[] = []) {
  return [
    { type: 'apis', apis: ['sql'] },
    {
      type: 'database',
      tables: Object.entries(tables).map(([name, permissions]) => ({ schema: 'public', name, permissions })),
      schemas: schemas.map((name) => ({ name, permissions: ['create'] })),
    },
  ]
}

export const databaseOf = (key: KeyDocument) => key.grants.find((section) => section.type === 'database')!

/** The tables of a key as `{ 'schema.name': 'insert,select' }`. */
export const tablesOf = (key: KeyDocument): Record<string, string> =>
  Object.fromEntries(
    databaseOf(key).tables!.map(({ schema, name, permissions }) => [`${schema}.${name}`, permissions.join()]),
  )

/** The role of a key, which no document shows. */
export async function roleOf({ service }: Setup, user: TestUser, name: string): Promise<string> {
  const { rows } = await service.services.databases.control.query<{ role_name: string }>(
    'select role_name from cartage.api_keys where user_id = $1 and name = $2',
    [user.account.userId, name],
  )
  assert.ok(rows[0], `key ${name}`)
  return rows[0].role_name
}

/** Every role of this user's keys in the cluster. */
export async function keyRolesOf({ admin }: Setup, user: TestUser): Promise<string[]> {
  const { rows } = await admin(`select rolname from pg_roles where rolname like $1 order by rolname`, [
    `${user.account.masterRole.replaceAll('_', '\\_')}\\_k%`,
  ])
  return rows.map((row) => row.rolname)
}

/** The SQLSTATE of a role's statement; undefined if it succeeds. */
export async function refusal(user: TestUser, role: string, text: string): Promise<string | undefined> {
  return user.sql(text, undefined, role).then(
    () => undefined,
    (error: { code?: string }) => error.code ?? String(error),
  )
}
