import { AppError, errors } from '../../errors.ts'
import { changeHost } from '../../hosts/change-host.ts'
import { type CountedHost, countDatabases } from '../../hosts/host-store.ts'
import type { Installation } from '../../hosts/installation.ts'
import { answerWithin } from '../../postgres/answer-within.ts'
import { adminTarget } from '../../postgres/session-target.ts'
import { tenantDatabasePattern } from '../../postgres/tenant-names.ts'
import { databaseOf } from './household.ts'
import { kindOf, type Move, nameOf } from './move.ts'
import { type Placed, placedOn, unfinishedFrom, unfinishedTo } from './move-store.ts'
import { requestMove, type Wanted } from './request-move.ts'

export type Drain = Readonly<{
  host: string
  /** From this host, and not ended, in the order in which they are carried out. */
  moves: readonly Move[]
  /** The moves that this call has asked for. */
  made: readonly number[]
  /** What has no move. */
  left: readonly Left[]
}>

export type Left = Wanted & Readonly<{ reason: string }>

/**
 * The host takes no users from now on, and all that it has shall move to hosts that take users: to the one whose
 * databases take the fewest bytes, the largest first. Can be repeated, and tries again what has failed.
 */
export async function drainHost(installation: Installation, name: string, to?: string): Promise<Drain> {
  const { control } = installation.databases
  const hosts = await countDatabases(control)
  const host = hosts.find((each) => each.name === name)
  if (!host) throw errors.hostInvalid(`There is no host '${name}'`)
  const room = await roomOn(installation, targetsOf(hosts, name, to))
  if (room.size === 0 && host.databases > 0)
    throw errors.hostInvalid(
      'No other host that answers takes new users (cartage host add, cartage host set)',
    )
  if (host.acceptsUsers) await changeHost(installation, name, false)
  const sizes = await sizesOn(installation, host.id)
  const sizeOf = (database: string) => sizes?.get(database) ?? 0
  const fill = (target: string, database: string) =>
    room.set(target, (room.get(target) ?? 0) + sizeOf(database))
  for (const move of await unfinishedFrom(control, host.id)) fill(move.toHost, databaseOf(installation, move))
  const made: number[] = []
  const refused: Left[] = []
  const placed = [...(await placedOn(control, host.id))]
  for (const account of placed.sort((a, b) => sizeOf(b.database) - sizeOf(a.database))) {
    const target = emptiest(room)
    const move = await moveOrReason(installation, account, target)
    if (typeof move === 'string') refused.push({ kind: account.kind, name: account.name, reason: move })
    else {
      made.push(move.id)
      fill(target, account.database)
    }
  }
  // Another drain may have given one its move since it was listed.
  const stay = new Set((await placedOn(control, host.id)).map(keyOf))
  const left = [
    ...(await onTheirWayTo(installation, host)),
    ...refused.filter((each) => stay.has(keyOf(each))),
  ]
  return { host: name, moves: await unfinishedFrom(control, host.id), made, left }
}

const keyOf = ({ kind, name }: Wanted) => `${kind} ${name}`

function targetsOf(
  hosts: readonly CountedHost[],
  name: string,
  to: string | undefined,
): readonly CountedHost[] {
  const others = hosts.filter((host) => host.name !== name && host.acceptsUsers)
  if (to === undefined) return others
  const chosen = others.filter((host) => host.name === to)
  if (chosen.length > 0) return chosen
  const isKnown = hosts.some((host) => host.name === to)
  if (!isKnown) throw errors.hostInvalid(`There is no host '${to}'`)
  throw errors.hostInvalid(
    to === name ? `The host '${to}' cannot take its own users` : `The host '${to}' takes no new users`,
  )
}

/** Its move, or why it has none: it may have changed since it was listed. */
async function moveOrReason(
  installation: Installation,
  { kind, name, isActive }: Placed,
  target: string,
): Promise<Move | string> {
  if (!isActive) return 'It is being created or deleted'
  return requestMove(installation, { kind, name }, target).catch((error: unknown) => {
    if (error instanceof AppError) return error.message
    throw error
  })
}

/** A move to this host that has begun ends there. */
async function onTheirWayTo({ databases: { control } }: Installation, { id }: CountedHost): Promise<Left[]> {
  return (await unfinishedTo(control, id)).map((move) => ({
    kind: kindOf(move),
    name: nameOf(move),
    reason: `Its move ${move.id} to this host has not ended`,
  }))
}

/** How many bytes the databases of tenants take on the hosts that answer. One that cannot tell is the last choice. */
async function roomOn(
  installation: Installation,
  hosts: readonly CountedHost[],
): Promise<Map<string, number>> {
  const asked = await Promise.all(
    hosts.map(async ({ id, name }) => {
      if (!(await answers(installation, id))) return []
      const sizes = await sizesOn(installation, id)
      const bytes = sizes && [...sizes.values()].reduce((sum, each) => sum + each, 0)
      return [[name, bytes ?? Number.MAX_SAFE_INTEGER] as const]
    }),
  )
  return new Map(asked.flat())
}

async function answers({ databases: { admin, hosts } }: Installation, hostId: number): Promise<boolean> {
  const answer = admin.use(adminTarget(hosts, hostId), (session) => session.query('select'))
  return answerWithin(answerMs, answer).then(
    () => true,
    () => false,
  )
}

const emptiest = (room: ReadonlyMap<string, number>) => [...room].sort(([, a], [, b]) => a - b)[0]![0]

/** Undefined: the host cannot tell in time. It reads the size of every file. */
async function sizesOn(
  { databases: { admin, hosts }, namespace }: Installation,
  hostId: number,
): Promise<ReadonlyMap<string, number> | undefined> {
  const answer = admin.use(adminTarget(hosts, hostId), (session) =>
    session.query<{ name: string; bytes: string }>(
      `select datname::text as name, pg_catalog.pg_database_size(oid) as bytes
       from pg_catalog.pg_database where datname ~ $1`,
      [tenantDatabasePattern(namespace)],
    ),
  )
  return answerWithin(sizesMs, answer).then(
    ({ rows }) => new Map(rows.map(({ name, bytes }) => [name, Number(bytes)])),
    () => undefined,
  )
}

const answerMs = 10_000
const sizesMs = 30_000
