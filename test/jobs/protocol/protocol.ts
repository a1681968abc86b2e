import type { Bounds } from '../../support/search/bounds.ts'

/**
 * The guards of the job protocol, each of which can be switched off. The model is searched with all of them, where
 * nothing may break, and without each, which shows what it is for.
 *
 * The state machine of the service, src/jobs/job-state.ts, decides what becomes of a job (see progress.ts). The rest is
 * a model: workers, canceller, databases and messages are written here again, and tests on real servers check that the
 * service behaves like it. `jobs/model.test.ts` plays the same acts on the store; `worker/late-writes`,
 * `worker/recovery`, `operations/hosts/set-back`, `faults/synchronous-replica` and the chaos test do so on whole
 * processes.
 *
 * Read on in state.ts (the data), messages.ts (what the databases answer), worker.ts, canceller.ts and faults.ts (who
 * acts and what goes wrong) and invariants.ts (what must hold). The model leaves out fallbacks, statements outside a
 * transaction, the transaction of the next item begun ahead, and an old primary that continues after a fail-over.
 */
export type Protocol = Readonly<{
  /** A write changes nothing if the row has another claim. */
  isClaimCompared: boolean
  /** A write changes nothing if the row has another revision than the writer knows. */
  isRevisionCompared: boolean
  /** A write that the row already has is answered with `written`. */
  isRepeatRecognised: boolean
  /**
   * A write is refused if the control database crashed or failed over since the job was read: on its own server, or
   * always.
   */
  epochComparedFor: 'nobody' | 'same log' | 'everybody'
  /** A worker that takes over a job first ends the backend of its flight and asks for the outcome. */
  isFlightSettled: boolean
  /** A write that says what became of an item is on the disk before it is answered. */
  isOutcomeFlushed: boolean
  /** On another host an announcement is on the disk before it is answered. Beside the control database it never waits. */
  isAnnouncementFlushed: boolean
  /** On another host a flight counts as applied only if its xid has committed and its mark is there. */
  isMarkAsked: boolean
  /** A mark replaces another only if the replacing worker has settled that flight. */
  isMarkCompared: boolean
  /** A mark is written only while the backend of its flight lives. */
  isMarkBoundToBackend: boolean
  /** A worker that finds the mark of an unknown flight first checks whether it still has the job. */
  rivalDoubtedBy: 'nothing' | 'claim' | 'claim and revision'
  /** A canceller obeys marks too, and leaves one where it stops: unless the row has a flight, or always. */
  cancelMarkedFor: 'nobody' | 'jobs without a flight' | 'everybody'
  /** Marks stay after the job has ended. */
  areMarksKept: boolean
  /** A flight counts as committed only when the synchronous replica has confirmed everything its host has. */
  isReplicaAwaited: boolean
  /** A commit with the warning that it did not wait for the replica is settled like one without an answer. */
  isWarningHeeded: boolean
  /** A failed item is retried only after its flight was settled as aborted. */
  isRetrySettled: boolean
}>

export const wholeProtocol: Protocol = {
  isClaimCompared: true,
  isRevisionCompared: true,
  isRepeatRecognised: true,
  epochComparedFor: 'everybody',
  isFlightSettled: true,
  isOutcomeFlushed: true,
  isAnnouncementFlushed: true,
  isMarkAsked: true,
  isMarkCompared: true,
  isMarkBoundToBackend: true,
  rivalDoubtedBy: 'claim and revision',
  cancelMarkedFor: 'everybody',
  areMarksKept: true,
  isReplicaAwaited: true,
  isWarningHeeded: true,
  isRetrySettled: true,
}

/**
 * Where the statements of the job run: in the log of the control database, or on a host with its own log, which may
 * have a synchronous replica. All other replicas are asynchronous. (A synchronous replica of the control database would
 * only delay answers, so it adds no new states.)
 */
export const places = ['same log', 'another host', 'synchronous host'] as const

export type Place = (typeof places)[number]

/** Faults besides the plain run of a job. */
export const chances = [
  'cancel',
  'release',
  /** A statement raises an error. */
  'failure',
  /** A statement raises an error that may be retried, and the job has an attempt left. */
  'retry',
  /** A message is repeated or given up, and its first copy may arrive at any time later. */
  'lateMessage',
  /** A message is executed, and its answer is lost. */
  'lostAnswer',
  /** The connection between a worker and the backend of its statement is cut. */
  'cutConnection',
  /** A worker or the canceller dies. */
  'processCrash',
  /** A slow worker is taken for dead. */
  'suspicion',
  /** A server crashes and loses the end of the log that is not on the disk. */
  'serverCrash',
  /** A server fails over to a replica that lacks the end of the log. */
  'failOver',
  /** An administrator cancels the wait of a commit for the synchronous replica. */
  'cancelledWait',
] as const

export type Chance = (typeof chances)[number]

export type Setting = Readonly<{ protocol: Protocol; place: Place; items: number; bounds: Bounds<Chance> }>
