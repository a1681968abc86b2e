import type { MeDocument, OwnActivity, UsageDocument, UsageFilter } from '../contract/documents.ts'
import { dashboardsOf } from './api/dashboards-api.ts'
import { dataOf } from './api/data-api.ts'
import { exportsOf } from './api/exports-api.ts'
import { healthOf } from './api/health-api.ts'
import { importsOf } from './api/imports-api.ts'
import { jobsOf } from './api/jobs-api.ts'
import { keysOf, type Target } from './api/keys-api.ts'
import { mapsOf } from './api/maps-api.ts'
import { savedQueriesOf } from './api/queries-api.ts'
import { schedulesOf } from './api/schedules-api.ts'
import { sessionsOf } from './api/session-api.ts'
import { tablesOf } from './api/tables-api.ts'
import { tilesOf } from './api/tiles-api.ts'
import { uploadsOf } from './api/uploads-api.ts'
import { webhooksOf } from './api/webhooks-api.ts'
import type { Numbers } from './exact-json.ts'
import { historyOf } from './history-api.ts'
import { connect } from './http/connect.ts'
import { basicOf } from './http/send.ts'
import { sendForJson } from './http/send-checked.ts'
import type { Transport } from './http/transport.ts'

export type ClientOptions = Readonly<{
  /** Where the service is, without `/user/...`. */
  baseUrl: string
  username: string
  token: string
  /** The path's account where it is not the user: the organization. */
  account?: string
  /** What the numbers of rows become. By default `exact`. */
  numbers?: Numbers
  /** How often a request is repeated at most, if that is safe. By default 3. */
  retries?: number
}>

export type Client = ReturnType<typeof userClient>

/** A user's view of a Cartage service. Everything that is not success is thrown as a CartageError. */
export function userClient(options: ClientOptions, transport: Transport) {
  const { baseUrl, username, token, account = username, numbers = 'exact', retries } = options
  const connection = connect(baseUrl, basicOf(username, token), transport, retries)
  return {
    ...dataOf(connection, account, numbers),
    ...sessionsOf({ baseUrl: connection.baseUrl, account, username, token, numbers, transport }),
    dashboards: dashboardsOf(connection, account),
    exports: exportsOf(connection, account),
    history: historyOf(connection, account),
    imports: importsOf(connection, account),
    jobs: jobsOf(connection, account),
    keys: keysOf(connection, account),
    maps: mapsOf(connection, account),
    queries: savedQueriesOf(connection, account, numbers),
    schedules: schedulesOf(connection, account),
    tables: tablesOf(connection, account),
    tiles: tilesOf(connection, account),
    uploads: uploadsOf(connection, account),
    webhooks: webhooksOf(connection, account),
    health: healthOf(connection),
    /** The account of the key, and what is left of the quota. */
    me: () => sendForJson<MeDocument>(connection, 'whoAmI'),
    /** What the account has used; with the master key. */
    usage: (query: UsageFilter = {}) =>
      sendForJson<UsageDocument>(connection, 'readUsage', { parameters: { name: account }, query }),
    /** What runs for the account now, or for the named member, each with its key; with the master key. */
    activity: (query: Target = {}) =>
      sendForJson<OwnActivity>(connection, 'readOwnActivity', { parameters: { name: account }, query }),
    /** Closes the connections that rest. */
    close: transport.close,
  }
}
