import type { QueryResultRow } from 'pg'
import type { Log } from '../../log.ts'
import type { Host, Hosts } from '../hosts.ts'

/** One thing that is looked at on every host, again and again. Looks of a host run one after the other. */
export type Look = Readonly<{
  /** A label of the metrics. */
  name: string
  everyMs: number
  /** Until the next look after one that has ended something; `everyMs` unless told. */
  alertMs?: number
  /** Ends what must end, and answers what that was. If it fails, or takes too long, the next look tries again. */
  look: (guarded: GuardedHost) => Promise<readonly Ended[]>
}>

/** What a look works on. */
export type GuardedHost = Readonly<{
  host: Host
  /** Asks in the administrator's database. The statement is planned once on a connection, and its answer has an end. */
  ask: <R extends QueryResultRow>(text: string, values?: unknown[]) => Promise<readonly R[]>
}>

/** What a look has ended, and why, for the log, the metrics and the audit record; and the table, if it was for one. */
export type Ended = Readonly<{ role: string; why: string; table?: string }>

export type GuardOptions = Readonly<{
  hosts: Hosts
  looks: readonly Look[]
  /** A look has ended something; called once for each thing. Must not throw. */
  onEnded: (look: Look, host: Host, ended: Ended) => void
  log: Log
}>
