import type { Socket } from 'node:net'
import type pg from 'pg'
import { AppError, errors } from '../../errors.ts'
import type { Log } from '../../log/log.ts'
import { firstHostId, type Hosts } from '../hosts.ts'
import { type Address, connectToPrimary } from '../primary.ts'
import type { SessionTarget } from '../session-target.ts'
import { hasSqlstate, isConnectionLoss, sqlstate } from '../sqlstate.ts'
import { keepAlive } from '../wire/drop-when-silent.ts'
import { ScramClient } from '../wire/scram-client.ts'
import { sessionOptions } from './session-options.ts'

/** Checks the password and settings of a role, and restores them. */
export type LoginCheck = Readonly<{
  isAsChosen: (client: pg.Client) => Promise<boolean>
  repair: (target: SessionTarget) => Promise<void>
}>

export type LogInOptions = Readonly<{
  name: string
  hosts: Hosts
  passwordOf: (target: SessionTarget) => string
  /** For tenants, whose roles can change themselves. */
  check?: LoginCheck
  /** Creates the socket; by default a plain one. */
  openSocket?: () => Socket
  /** Start-up settings of every connection, such as statement_timeout. */
  settings: Readonly<Record<string, string | number>>
  /** More of them, which only a superuser may choose. */
  superuserSettings?: Readonly<Record<string, string | number>>
  waitMs: number
  log: Log
}>

/**
 * Opens a connection as the role itself, with our settings. A role can change its own password and settings: then it is
 * repaired, and the login is retried.
 */
export async function logIn(options: LogInOptions, target: SessionTarget): Promise<pg.Client> {
  for (let attempt = 1; ; attempt += 1) {
    const client = await attemptLogin(options, target, attempt === mostAttempts)
    if (client) return client
    await options.check?.repair(target)
  }
}

/** Undefined: the role needs a repair. */
async function attemptLogin(
  options: LogInOptions,
  target: SessionTarget,
  isLast: boolean,
): Promise<pg.Client | undefined> {
  try {
    const client = await connect(options, target)
    if (!options.check || (await isSound(options.check, client))) return client
    if (isLast) throw new Error(`the role ${target.role} keeps changing itself`)
  } catch (error) {
    // The administrator alone has no check, and some of its settings need a superuser.
    if (!options.check && hasSqlstate(error, sqlstate.insufficientPrivilege)) {
      refuseWithoutSuperuser(options.hosts, target, error)
      return undefined
    }
    if (isLast || !options.check || isUnavailable(error)) throw loginError(error)
  }
  return undefined
}

/** The login of the control database need not be one: it is tried again with fewer settings. */
function refuseWithoutSuperuser(hosts: Hosts, { hostId }: SessionTarget, error: unknown): void {
  if (hostId !== firstHostId) throw errors.notSuperuser(error)
  if (hosts.isControlOnly(hostId)) throw errors.controlRightsMissing('connect to a database there', error)
  if (hosts.isFirstSettled) throw errors.notSuperuser(error)
  hosts.useFirstForControlOnly()
}

/** A session that ends during the check is not sound either: a role can set itself an idle timeout of one millisecond. */
async function isSound(check: LoginCheck, client: pg.Client): Promise<boolean> {
  const isChosen = await check.isAsChosen(client).catch(() => false)
  if (!isChosen) await client.end().catch(() => undefined)
  return isChosen
}

function connect(options: LogInOptions, target: SessionTarget): Promise<pg.Client> {
  const { primary, replicaOf } = options.hosts.get(target.hostId)
  const wanted = replicaOf === undefined ? 'primary' : 'standby'
  return connectToPrimary(primary, (address) => connectTo(address, wanted, options, target))
}

async function connectTo(
  address: Address,
  wanted: 'primary' | 'standby',
  options: LogInOptions,
  target: SessionTarget,
): Promise<pg.Client> {
  const config = {
    ...address,
    database: target.database,
    user: target.role,
    password: options.passwordOf(target),
    application_name: `cartage ${options.name}`,
    options: sessionOptions({
      ...options.settings,
      ...(options.hosts.isControlOnly(target.hostId) ? {} : options.superuserSettings),
      search_path: target.searchPath,
    }),
    connectionTimeoutMillis: options.waitMs,
    ...keepAlive,
    ...(options.openSocket && { stream: options.openSocket }),
  }
  const client = new ScramClient(config, wanted)
  // Without a listener, losing an idle connection would end the process.
  client.on('error', (error) => options.log.debug({ err: error }, 'connection lost'))
  try {
    await client.connect()
    return client
  } catch (error) {
    await client.end().catch(() => undefined)
    throw error
  }
}

function isUnavailable(error: unknown): boolean {
  return (
    error instanceof AppError ||
    isConnectionLoss(error) ||
    hasSqlstate(error, sqlstate.tooManyConnections, sqlstate.cannotConnectNow, sqlstate.invalidCatalogName)
  )
}

function loginError(error: unknown): AppError {
  return error instanceof AppError ? error : errors.databaseUnavailable(error)
}

const mostAttempts = 4
