import type { Log } from '../log/log.ts'
import type { Databases } from '../postgres/databases.ts'
import type { Migration } from '../postgres/migrate.ts'
import type { Secrets } from '../secrets.ts'

/** A running installation: what all operations on its hosts and accounts need. */
export type Installation = Readonly<{
  namespace: string
  databases: Databases
  secrets: Secrets
  /** Migrations of every tenant database. */
  tenantMigrations: readonly Migration[]
  /** Migrations of the service's own database on every host but the first. */
  hostMigrations: readonly Migration[]
  log: Log
}>
