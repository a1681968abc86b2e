import type { AccountsContext } from '../accounts/accounts-context.ts'
import type { Directory } from '../auth/directory.ts'
import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import type { Databases } from '../postgres/databases.ts'
import type { Secrets } from '../secrets.ts'

/** What the routes are given. */
export type Services = Readonly<{
  config: Config
  log: Log
  databases: Databases
  secrets: Secrets
  directory: Directory
  accounts: AccountsContext
  /** Empty: the admin API is off. */
  adminToken: string
  /** False while the service is starting or draining: load balancers look elsewhere. */
  isReady: () => boolean
}>
