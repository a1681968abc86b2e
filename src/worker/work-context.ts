import type { Config } from '../config/config.ts'
import type { Imports } from '../imports/imports.ts'
import type { JobWrite, WriteResult } from '../jobs/write-store.ts'
import type { Log } from '../log/log.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Databases } from '../postgres/databases.ts'
import type { ParameterTypes } from '../query/params/parameter-types.ts'
import type { HostHealth } from './host-health.ts'
import type { RunTimes } from './run-times.ts'
import type { ServerEpoch } from './server-epoch.ts'

export type WorkerOptions = Readonly<{
  config: Config
  log: Log
  databases: Databases
  imports: Imports
  metrics?: Pick<Metrics, 'jobFinished' | 'jobTakenOver'> | undefined
}>

/** What running a job needs. */
export type WorkContext = WorkerOptions &
  Readonly<{
    parameterTypes: ParameterTypes
    runTimes: RunTimes
    health: HostHealth
    epoch: ServerEpoch
    /** Writes with the next exchange. */
    write: (write: JobWrite) => Promise<WriteResult>
    /** The worker stops, or the user was suspended: cut the statement short and release the job. */
    interrupted: AbortSignal
    /** The worker stops. */
    stopping: AbortSignal
    /** The worker was declared dead, or its time is over: do not even release them. */
    abandoned: AbortSignal
  }>
