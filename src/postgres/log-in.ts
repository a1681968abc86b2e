import type { Socket } from 'node:net'
import pg from 'pg'
import { AppError, errors } from '../errors.ts'
import type { Log } from '../log.ts'
import { keepAlive } from './drop-when-silent.ts'
import type { Hosts } from './hosts.ts'
import { sessionOptions } from './session-options.ts'
import type { SessionTarget } from './session-target.ts'
import { hasSqlstate, isConnectionLoss, sqlstate } from './sqlstate.ts'

export type LogInOptions = Readonly<{
  name: string
  hosts: Hosts
  passwordOf: (target: SessionTarget) => string
  /** Undoes what a tenant did to its own role so that it can log in again. */
  repairLogin?: (target: SessionTarget) => Promise<void>
  /** The socket of a new connection, where a plain one is not good enough. */
  openSocket?: () => Socket
  /** Start-up settings of every connection, such as statement_timeout. */
  settings: Readonly<Record<string, string | number>>
  waitMs: number
  log: Log
}>

/** Opens a connection as the role itself. A login that the role broke is repaired and tried once more. */
export async function logIn(options: LogInOptions, target: SessionTarget): Promise<pg.Client> {
  try {
    return await connect(options, target)
  } catch (error) {
    if (!options.repairLogin || isUnavailable(error)) throw loginError(error)
    await options.repairLogin(target)
    return await connect(options, target).catch((again: unknown) => {
      throw loginError(again)
    })
  }
}

async function connect(options: LogInOptions, target: SessionTarget): Promise<pg.Client> {
  const client = new pg.Client({
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
