/**
 * The guards of the job protocol, each of which can be left out. The model is searched with all of them, where nothing
 * must be found, and without each, which shows what it is for.
 *
 * Read on in state.ts (what there is), messages.ts (what the databases do when they are asked), worker.ts, canceller.ts and
 * faults.ts (who acts, and what goes wrong), invariants.ts (what must hold) and search.ts. What is left out: fallbacks,
 * statements outside of a transaction, transactions begun ahead, and an old primary that goes on after a fail-over.
 */
export type Protocol = Readonly<{
  /** What a worker is given with a job: the next number, or an id that nobody is ever given again. */
  claimBy: 'counter' | 'id'
  /** A write changes nothing if the row has another claim, */
  isClaimCompared: boolean
  /** or another revision than the writer knows. */
  isRevisionCompared: boolean
  /** A write that stands in the row already is answered with `written`. */
  isRepeatRecognised: boolean
  /** A write is refused if the control database has crashed or failed over since the job was read: beside it, or always. */
  epochComparedFor: 'nobody' | 'same log' | 'everybody'
  /** Whoever takes over a job ends the backend of its flight and asks for the outcome before anything else. */
  isFlightSettled: boolean
  /** On the disk before they are answered. */
  isClaimFlushed: boolean
  isAnnouncementFlushed: boolean
  /** A worker releases a claim that it does not know, or whatever is not in the list that it sends. */
  releaseBy: 'claim' | 'list'
  /** On another host, a flight was applied if its xid has committed; or only if its mark stands there as well. */
  outcomeBy: 'xid' | 'mark'
  /** A mark replaces another only if that flight was settled by whoever replaces it. */
  isMarkCompared: boolean
  /** A mark is written only while the backend of its flight lives. */
  isMarkBoundToBackend: boolean
  /** Who finds the mark of a flight that it does not know first looks whether the job is still its own. */
  rivalDoubtedBy: 'nothing' | 'claim' | 'claim and revision'
  /** A canceller goes by the marks too, and leaves one where it stops. */
  isCancelMarked: boolean
  /** Marks stay when the job has ended. */
  areMarksKept: boolean
}>

export const newProtocol: Protocol = {
  claimBy: 'id',
  isClaimCompared: true,
  isRevisionCompared: true,
  isRepeatRecognised: true,
  epochComparedFor: 'everybody',
  isFlightSettled: true,
  isClaimFlushed: true,
  isAnnouncementFlushed: true,
  releaseBy: 'claim',
  outcomeBy: 'mark',
  isMarkCompared: true,
  isMarkBoundToBackend: true,
  rivalDoubtedBy: 'claim and revision',
  isCancelMarked: true,
  areMarksKept: true,
}

/** A number that grows with each change of hands was all there was. */
export const oldProtocol: Protocol = {
  ...newProtocol,
  claimBy: 'counter',
  isRevisionCompared: false,
  isRepeatRecognised: false,
  epochComparedFor: 'same log',
  releaseBy: 'list',
  outcomeBy: 'xid',
}

/** Where the statements of the job run: in the log of the control database, or on a host with a log of its own. */
export type Place = 'same log' | 'another host'

/** What may happen besides the plain run of a job, and how often: each, and all of it together. */
export type Bounds = Readonly<Record<Chance | 'together', number>>

export const chances = [
  'cancel',
  'release',
  /** A statement raises an error. */
  'failure',
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
] as const

export type Chance = (typeof chances)[number]

export type Setting = Readonly<{ protocol: Protocol; place: Place; items: number; bounds: Bounds }>
