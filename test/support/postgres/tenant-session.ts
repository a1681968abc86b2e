import type { TestContext } from 'node:test'
import pg from 'pg'
import { grantsOf, keysClient, roleOf } from '../keys/keys-client.ts'
import type { Setup, TestUser } from '../service/setup.ts'

/** The rows of a role's SQL, the master role's by default. */
export async function rows(
  user: TestUser,
  text: string,
  role?: string,
): Promise<readonly Record<string, unknown>[]> {
  const answer = await user.sql(text, undefined, role)
  return (Array.isArray(answer) ? answer.at(-1) : answer).rows
}

/** The single value of a role's SQL. */
export async function value(user: TestUser, text: string, role?: string): Promise<unknown> {
  const [row] = await rows(user, text, role)
  return row && Object.values(row)[0]
}

/** The values of the first column. */
export async function column(user: TestUser, text: string, role?: string): Promise<unknown[]> {
  return (await rows(user, text, role)).map((row) => Object.values(row)[0])
}

/** SQLSTATE and text of the error of a role's SQL; undefined if it succeeds. */
export async function refusal(user: TestUser, text: string, role?: string): Promise<string | undefined> {
  return user.sql(text, undefined, role).then(() => undefined, describe)
}

export const describe = (error: { code?: string; message: string }) => `${error.code}: ${error.message}`

/** The role of a new key: with `create` on the given schemas and permissions on tables of schema public. */
export async function makeKey(
  context: Setup,
  user: TestUser,
  schemas: readonly string[] = [],
  tables: Record<string, readonly string[]> = {},
): Promise<string> {
  await keysClient(user).make('k', grantsOf(tables, schemas))
  return roleOf(context, user, 'k')
}

/** A session that stays open for several statements. */
export async function openSession(
  t: TestContext,
  { service }: Setup,
  { account }: TestUser,
): Promise<pg.Client> {
  const { databases, secrets } = service.services
  const client = new pg.Client({
    ...databases.hosts.get(account.hostId).addresses[0],
    database: account.database,
    user: account.masterRole,
    password: secrets.rolePassword(account.masterRole),
    options: `-c search_path=${account.schema === 'public' ? 'public' : `"${account.schema}"`},cartodb,public,postgis`,
  })
  client.on('error', () => undefined)
  await client.connect()
  t.after(() => client.end())
  return client
}
