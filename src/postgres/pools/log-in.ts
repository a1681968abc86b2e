import type { Socket } from 'node:net'
import type pg from 'pg'
import { AppError, errors } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { Hosts } from '../hosts.ts'
import type { SessionTarget } from '../session-target.ts'
import { hasSqlstate, isConnectionLoss, sqlstate } from '../sqlstate.ts'
import { keepAlive } from '../wire/drop-when-silent.ts'
import { ScramClient } from '../wire/scram-client.ts'
import { sessionOptions } from './session-options.ts'

/** Checks the password and settings of a role, and puts them back. */
export type Keeper = Readonly<{
  isAsChosen: (client: pg.Client) => Promise<boolean>
  repair: (target: SessionTarget) => Promise<void>
}>

export type LogInOptions = Readonly<{
  name: string
  hosts: Hosts
  passwordOf: (target: SessionTarget) => string
  /** For tenants, whose roles can change themselves. */
  keeper?: Keeper
  /** The socket of a new connection, where a plain one is not good enough. */
  openSocket?: () => Socket
  /** Start-up settings of every connection, such as statement_timeout. */
  settings: Readonly<Record<string, string | number>>
  waitMs: number
  log: Log
}>

/**
 * Opens a connection as the role itself, with the settings that we chose. A role can change its own password and
 * settings: then it is repaired, and the login is tried again.
 */
export async function logIn(options: LogInOptions, target: SessionTarget): Promise<pg.Client> {
  for (let attempt = 1; ; attempt += 1) {
    const client = await attemptLogin(options, target, attempt === mostAttempts)
    if (client) return client
    await options.keeper?.repair(target)
  }
}

/** Undefined: the role has to be repaired. */
async function attemptLogin(
  options: LogInOptions,
  target: SessionTarget,
  isLast: boolean,
): Promise<pg.Client | undefined> {
  try {
    const client = await connect(options, target)
    if (!options.keeper || (await isSound(options.keeper, client))) return client
    if (isLast) throw new Error(`the role ${target.role} keeps changing itself`)
  } catch (error) {
    // Nobody keeps the administrator's login, and some of its settings are for superusers.
    if (!options.keeper && hasSqlstate(error, sqlstate.insufficientPrivilege))
      throw errors.notSuperuser(error)
    if (isLast || !options.keeper || isUnavailable(error)) throw loginError(error)
  }
  return undefined
}

/** A session that ends during the check is not sound either: a role can give itself an idle timeout of a millisecond. */
async function isSound(keeper: Keeper, client: pg.Client): Promise<boolean> {
  const isChosen = await keeper.isAsChosen(client).catch(() => false)
  if (!isChosen) await client.end().catch(() => undefined)
  return isChosen
}

async function connect(options: LogInOptions, target: SessionTarget): Promise<pg.Client> {
  const client = new ScramClient({
    ...options.hosts.get(target.hostId).address,
    database: target.database,
    user: target.role,
    password: options.passwordOf(target),
    application_name: `cartage ${options.name}`,
    options: sessionOptions({ ...options.settings, search_path: target.searchPath }),
    connectionTimeoutMillis: options.waitMs,
    ...keepAlive,
    ...(options.openSocket && { stream: options.openSocket }),
  })
  // Without a listener a lost idle connection would end the process.
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
