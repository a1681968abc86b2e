import type { Bounds } from '../../support/search/bounds.ts'

/**
 * The guards of the job protocol, each of which can be left out. The model is searched with all of them, where nothing
 * must be found, and without each, which shows what it is for.
 *
 * What becomes of a job is decided by the state machine of the service itself, src/jobs/job-state.ts (see progress.ts). All
 * around it is a design proof: workers, canceller, databases and messages are written down here once more, and tests on
 * real servers hold the service to it. `jobs/model.test.ts` plays the same acts on the store, `worker/late-writes`,
 * `worker/recovery`, `operations/hosts/set-back`, `faults/synchronous-replica` and the chaos test on whole processes.
 *
 * Read on in state.ts (what there is), messages.ts (what the databases do when they are asked), worker.ts, canceller.ts and
 * faults.ts (who acts, and what goes wrong) and invariants.ts (what must hold). What is left out: fallbacks, statements
 * outside of a transaction, the transaction of the next item begun ahead, and an old primary that goes on after a fail-over.
 */
export type Protocol = Readonly<{
  /** A write changes nothing if the row has another claim, */
  isClaimCompared: boolean
  /** or another revision than the writer knows. */
  isRevisionCompared: boolean
  /** A write that stands in the row already is answered with `written`. */
  isRepeatRecognised: boolean
  /** A write is refused if the control database has crashed or failed over since the job was read: beside it, or always. */
  epochComparedFor: 'nobody' | 'same log' | 'everybody'
  /** A worker that takes over a job ends the backend of its flight and asks for the outcome before anything else. */
  isFlightSettled: boolean
  /** On the disk before they are answered. */
  isClaimFlushed: boolean
  isAnnouncementFlushed: boolean
  /** On another host, a flight was applied only if its mark stands there, besides that its xid has committed. */
  isMarkAsked: boolean
  /** A mark replaces another only if that flight was settled by whoever replaces it. */
  isMarkCompared: boolean
  /** A mark is written only while the backend of its flight lives. */
  isMarkBoundToBackend: boolean
  /** A worker that finds the mark of a flight that it does not know first looks whether the job is still its own. */
  rivalDoubtedBy: 'nothing' | 'claim' | 'claim and revision'
  /** A canceller goes by the marks too, and leaves one where it stops: unless the row has a flight, or always. */
  cancelMarkedFor: 'nobody' | 'jobs without a flight' | 'everybody'
  /** Marks stay when the job has ended. */
  areMarksKept: boolean
  /** A flight counts as committed only when the synchronous replica has confirmed all that its host has. */
  isReplicaAwaited: boolean
  /** A commit that says that it did not wait for the replica is settled as if it had not been answered. */
  isWarningHeeded: boolean
  /** A failed item is tried again only after its flight was settled as aborted. */
  isRetrySettled: boolean
}>

export const wholeProtocol: Protocol = {
  isClaimCompared: true,
  isRevisionCompared: true,
  isRepeatRecognised: true,
  epochComparedFor: 'everybody',
  isFlightSettled: true,
  isClaimFlushed: true,
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
 * Where the statements of the job run: in the log of the control database, or on a host with a log of its own, which may
 * have a synchronous replica. All other replicas are asynchronous. (A synchronous one of the control database would only
 * delay its answers, so whatever may happen with it may happen without it.)
 */
export const places = ['same log', 'another host', 'synchronous host'] as const

export type Place = (typeof places)[number]

/** What may happen besides the plain run of a job. */
export const chances = [
  'cancel',
  'release',
  /** A statement raises an error. */
  'failure',
  /** It raises one that another attempt may mend, and the job has one left. */
  'retry',
  /** A message is repeated, or forgotten, and its first copy may arrive at any time after that. */
  'lateMessage',
  /** A message is executed, and nobody hears of it. */
  'lostAnswer',
  /** Between a worker and the backend of its statement. */
  'cutConnection',
  /** Of a worker or of the canceller. */
  'processCrash',
  /** A worker that is only slow is taken for dead. */
  'suspicion',
  /** With the end of the log that is not on the disk. */
  'serverCrash',
  /** To a replica that lacks the end of the log. */
  'failOver',
  /** Somebody cancels the wait of a commit for the synchronous replica. */
  'cancelledWait',
] as const

export type Chance = (typeof chances)[number]

export type Setting = Readonly<{ protocol: Protocol; place: Place; items: number; bounds: Bounds<Chance> }>
