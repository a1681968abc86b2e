import type { Log } from '../log.ts'
import type { Databases } from '../postgres/databases.ts'
import type { Migration } from '../postgres/migrate.ts'
import type { Secrets } from '../secrets.ts'

/** A running installation: what every act on its hosts and accounts needs. */
export type Installation = Readonly<{
  namespace: string
  databases: Databases
  secrets: Secrets
  /** What every tenant database has had applied. */
  tenantMigrations: readonly Migration[]
  /** What the service's own database on every host but the first has had applied. */
  hostMigrations: readonly Migration[]
  log: Log
}>
