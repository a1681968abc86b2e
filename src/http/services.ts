import type { Moves } from '../accounts/moves/moves.ts'
import type { UserRestores } from '../accounts/restore/user-restores.ts'
import type { AuditRefusals } from '../audit/audit-refusals.ts'
import type { AuditUses } from '../audit/audit-uses.ts'
import type { Directory } from '../auth/directory.ts'
import type { Config } from '../config/config.ts'
import type { Copies } from '../copy/copies.ts'
import type { Dashboards } from '../dashboards/dashboards.ts'
import type { Installation } from '../hosts/installation.ts'
import type { Imports } from '../imports/imports.ts'
import type { JobFollowers } from '../jobs/follow/job-followers.ts'
import type { JobQueue } from '../jobs/job-queue.ts'
import type { JobWaiter } from '../jobs/job-waiter.ts'
import type { PerUserMutex } from '../keys/per-user-mutex.ts'
import type { Log } from '../log/log.ts'
import type { Maps } from '../maps/maps.ts'
import type { NamedMaps } from '../maps/named/named-maps.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Databases } from '../postgres/databases.ts'
import type { Queries } from '../query/answer-query.ts'
import type { SavedQueries } from '../saved-queries/saved-queries.ts'
import type { Secrets } from '../secrets.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Tiles } from '../tiles/tiles.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import type { WrongTokens } from './middleware/credential/wrong-tokens.ts'

/** What the routes need. Each exists once per process. */
export type Services = Readonly<{
  config: Config
  log: Log
  databases: Databases
  secrets: Secrets
  directory: Directory
  installation: Installation
  moves: Moves
  /** Users that are restored from backups. */
  restores: UserRestores
  metrics: Metrics
  copies: Copies
  imports: Imports
  queries: Queries
  savedQueries: SavedQueries
  dashboards: Dashboards
  sessions: Sessions
  tiles: Tiles
  maps: Maps
  namedMaps: NamedMaps
  jobQueue: JobQueue
  webhooks: Webhooks
  jobWaiter: JobWaiter
  jobFollowers: JobFollowers
  /** Changes to the keys of one user run one after the other. */
  keysMutex: PerUserMutex
  /** Buffers wrong credentials for the audit record. */
  refusals: AuditRefusals
  /** Notes the first use of each key a day, for the audit record. */
  keyUses: AuditUses
  /** Limits wrong credentials by network. */
  wrongTokens: WrongTokens
  /** Empty: the admin API is off. */
  adminToken: string
  /** False while the service is starting or draining: load balancers use other processes. */
  isReady: () => boolean
}>
