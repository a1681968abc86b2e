import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { Databases } from '../postgres/databases.ts'
import type { BegunTransactions } from './begun-transactions.ts'
import type { HostHealth } from './host-health.ts'
import type { QueueExchange } from './queue-exchange.ts'
import type { ServerEpoch } from './server-epoch.ts'

/** What the running of a job needs. */
export type WorkContext = Readonly<{
  config: Config
  log: Log
  databases: Databases
  metrics?: Pick<Metrics, 'jobFinished' | 'jobTakenOver'> | undefined
  health: HostHealth
  epoch: ServerEpoch
  writer: QueueExchange
  begunTransactions: BegunTransactions
  /** The worker stops: statements are cut short and their jobs released. */
  interrupted: AbortSignal
  /** The worker has been declared dead, or its time is over: not even that. */
  abandoned: AbortSignal
}>
