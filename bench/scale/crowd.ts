import type { Client } from 'pg'
import { masterFunctions } from '../../src/accounts/tenant-roles.ts'
import { deriveSecrets } from '../../src/secrets.ts'
import type { Frame } from '../frame/frame.ts'
import { type RunningService, secret } from '../frame/service.ts'

export const organization = 'crowd'
export const memberName = (number: number) => `member-${number}`
export const memberToken = (number: number) => `token-of-member-${String(number).padStart(8, '0')}`

/**
 * Creates an organization with this many members, each with everything the service gives a member, directly in the
 * databases. Passwords are missing: the service sets them at a role's first login.
 */
export async function makeCrowd(
  frame: Frame,
  service: RunningService & { namespace: string },
  members: number,
): Promise<void> {
  await service.admin('POST', '/organizations', { name: organization, owner: { username: 'crowd-owner' } })
  const control = await frame.connect(service.namespace)
  const { rows } = await control.query(
    'select o.id, d.id as database_id, d.name from cartage.organizations o join cartage.databases d on d.id = o.database_id',
  )
  const tenant = await frame.connect(rows[0].name)
  for (let first = 1; first <= members; first += batch) {
    const numbers = Array.from({ length: Math.min(batch, members - first + 1) }, (_, place) => first + place)
    const users = await insertUsers(control, service.namespace, rows[0], numbers)
    await insertKeys(control, users)
    await admit(tenant, rows[0].name, users)
  }
  await control.query('analyze')
}

const batch = 500

type Crowd = Readonly<{ id: number; database_id: number }>
type Member = Readonly<{ id: number; number: number; username: string; role: string }>

async function insertUsers(
  control: Client,
  namespace: string,
  { id, database_id }: Crowd,
  numbers: readonly number[],
): Promise<readonly Member[]> {
  const names = numbers.map(memberName)
  await control.query('insert into cartage.account_names select unnest($1::text[])', [names])
  const { rows } = await control.query<{ id: number; username: string }>(
    `insert into cartage.users (id, username, organization_id, org_role, database_id, schema_name, master_role, public_role, state)
     overriding system value
     select n.id, n.name, $1, 'member', $2, n.name, $3 || '_u' || n.id, $3 || '_u' || n.id || '_public', 'active'
     from (select nextval('cartage.users_id_seq') as id, name from unnest($4::text[]) name) n
     returning id, username`,
    [id, database_id, namespace, names],
  )
  return rows.map((row) => ({
    ...row,
    number: numbers[names.indexOf(row.username)]!,
    role: `${namespace}_u${row.id}`,
  }))
}

async function insertKeys(control: Client, users: readonly Member[]): Promise<void> {
  const { hashToken, encryptToken } = deriveSecrets(secret)
  const insert = (name: string, type: string, suffix: string, tokens: readonly string[]) =>
    control.query(
      `insert into cartage.api_keys (user_id, name, type, role_name, token_hash, token_encrypted)
       select id, $2, $3, role || $4, hash, sealed
       from unnest($1::integer[], $5::text[], $6::bytea[], $7::bytea[]) k (id, role, hash, sealed)`,
      [
        users.map(({ id }) => id),
        name,
        type,
        suffix,
        users.map(({ role }) => role),
        tokens.map(hashToken),
        tokens.map(encryptToken),
      ],
    )
  const own = users.map(({ number }) => memberToken(number))
  await insert('Master', 'master', '', own)
  await insert(
    'Default public',
    'default',
    '_public',
    own.map(() => 'default_public'),
  )
}

/** Roles, rows, schema and grants, as admitToDatabase creates them. */
async function admit(tenant: Client, database: string, users: readonly Member[]): Promise<void> {
  const masters = users.map(({ role }) => role)
  const everyone = masters.map((role) => `${role}_public`)
  await tenant.query('begin')
  await tenant.query(
    `insert into cartage.accounts select name, name, role, role || '_public', 0 from unnest($1::text[], $2::text[]) u (name, role)`,
    [users.map(({ username }) => username), masters],
  )
  await tenant.query(
    [
      ...users.flatMap(({ role, username }) => [
        `create role ${role} login inherit`,
        `create role ${role}_public login inherit`,
        `grant ${role}_public to ${role}`,
        `create schema "${username}" authorization ${role}`,
        `grant usage on schema "${username}" to ${role}_public`,
        `insert into cartage.roles values ('${role}', '${username}', 'master'), ('${role}_public', '${username}', 'default')`,
      ]),
      `grant connect on database ${database} to ${everyone.join(', ')}`,
      `grant temporary on database ${database} to ${masters.join(', ')}`,
      `grant execute on function ${masterFunctions.join(', ')} to ${masters.join(', ')}`,
      'commit',
    ].join(';\n'),
  )
}

/** Jobs that ended in the last twenty days, spread over all users. */
export async function makeHistory(frame: Frame, namespace: string, jobs: number): Promise<void> {
  const control = await frame.connect(namespace)
  const definition = JSON.stringify({ form: 'string', items: [{ statement: 'select 1' }] })
  for (let left = jobs; left > 0; left -= historyBatch) {
    await control.query(
      `with owners as (select array_agg(id) as ids from cartage.users)
       insert into cartage.jobs (user_id, id, host_id, status, definition, created_at, updated_at, finished_at)
       select ids[1 + n % array_length(ids, 1)], gen_random_uuid(), 1, 'done', $2, at, at, at
       from owners, generate_series(1, $1) n,
         lateral (select clock_timestamp() - n * interval '20 days' / $1 as at) times`,
      [Math.min(left, historyBatch), definition],
    )
  }
  await control.query('vacuum analyze cartage.jobs')
}

const historyBatch = 50_000
