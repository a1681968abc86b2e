import type { QueryResultRow } from 'pg'
import type { Log } from '../../log/log.ts'
import type { Host, Hosts } from '../hosts.ts'

/** A check that runs on every host in rounds. The checks of a host run one after the other. */
export type GuardLook = Readonly<{
  /** A label of the metrics. */
  name: string
  everyMs: number
  /** Pause after a round that ended something; by default `everyMs`. */
  alertMs?: number
  /** Ends what must be ended, and returns it. After a failure or timeout the next round tries again. */
  look: (guarded: GuardedHost) => Promise<readonly Ended[]>
}>

/** What a check works on. */
export type GuardedHost = Readonly<{
  host: Host
  ask: AskHost
}>

/** Queries the administrator's database with a prepared statement and a timeout. */
export type AskHost = <R extends QueryResultRow>(text: string, values?: unknown[]) => Promise<readonly R[]>

/** What a check ended, and why, for the log, the metrics and the audit record; with the table, if it was about one. */
export type Ended = Readonly<{ role: string; why: string; table?: string }>

export type GuardOptions = Readonly<{
  hosts: Hosts
  looks: readonly GuardLook[]
  /** Called once for each thing ended. Must not throw. */
  onEnded: (look: GuardLook, host: Host, ended: Ended) => void
  log: Log
}>
