import assert from 'node:assert/strict'
import { test } from 'node:test'
import { story } from '../../support/search/search.ts'
import { type Case, holds, look } from './look.ts'
import { wholeProtocol } from './protocol.ts'

const appliedWrongly = '2: a done item was applied exactly once'
const takenBack = '2: a done item stays done'
const runsOn = '4: nothing of a final job runs'

/** Each guard, and what breaks without it. */
const neededGuards: readonly Case[] = [
  {
    name: 'comparing the revision',
    change: { isRevisionCompared: false },
    place: 'same log',
    given: ['lateMessage', 'processCrash'],
    breaks: takenBack,
  },
  {
    name: 'comparing the claim, or at least the epoch,',
    change: { isClaimCompared: false, epochComparedFor: 'same log' },
    place: 'another host',
    given: ['failOver', 'failure'],
    breaks: runsOn,
  },
  {
    name: 'comparing the epoch beside the control database',
    change: { epochComparedFor: 'nobody' },
    place: 'same log',
    given: ['serverCrash'],
    breaks: appliedWrongly,
  },
  {
    name: 'comparing the epoch for other hosts',
    change: { epochComparedFor: 'same log' },
    place: 'another host',
    given: ['failure', 'suspicion', 'failOver'],
    breaks: runsOn,
  },
  {
    name: 'the disk before the outcome of an item is told',
    change: { isOutcomeFlushed: false },
    place: 'same log',
    given: ['serverCrash'],
    breaks: takenBack,
  },
  {
    name: 'settling a flight before it is replaced',
    change: { isFlightSettled: false },
    place: 'same log',
    given: ['processCrash'],
    breaks: appliedWrongly,
  },
  {
    name: 'recognising a repeated write',
    change: { isRepeatRecognised: false },
    place: 'same log',
    given: ['lostAnswer'],
    breaks: 'a worker keeps what is its own',
  },
  {
    name: 'asking for the mark besides the xid',
    change: { isMarkAsked: false },
    place: 'another host',
    given: ['failOver'],
    breaks: appliedWrongly,
  },
  {
    name: 'comparing a mark before it is replaced',
    change: { isMarkCompared: false },
    place: 'another host',
    given: ['failOver', 'cancel'],
    breaks: runsOn,
  },
  {
    name: 'looking for the backend before it is marked',
    change: { isMarkBoundToBackend: false },
    place: 'another host',
    given: ['serverCrash'],
    breaks: appliedWrongly,
  },
  {
    name: 'looking at the job when a strange mark is found',
    change: { rivalDoubtedBy: 'nothing' },
    place: 'another host',
    given: ['failOver', 'cancel'],
    breaks: runsOn,
  },
  {
    name: 'looking at its revision as well',
    change: { rivalDoubtedBy: 'claim' },
    place: 'another host',
    given: ['failOver', 'cancel'],
    breaks: runsOn,
  },
  {
    name: 'the mark of a canceller',
    change: { cancelMarkedFor: 'nobody' },
    place: 'another host',
    given: ['failOver', 'cancel'],
    breaks: runsOn,
  },
  {
    name: 'the mark of a canceller that has settled a flight',
    change: { cancelMarkedFor: 'jobs without a flight' },
    place: 'another host',
    given: ['failOver', 'cancel'],
    breaks: runsOn,
  },
  {
    name: 'keeping the marks of a job that has ended',
    change: { areMarksKept: false },
    place: 'another host',
    given: ['failOver'],
    breaks: runsOn,
  },
  {
    name: 'waiting for the synchronous replica before a settled flight counts as committed',
    change: { isReplicaAwaited: false },
    place: 'synchronous host',
    given: ['failOver', 'cutConnection'],
    breaks: appliedWrongly,
  },
  {
    name: 'waiting for it after a worker was lost',
    change: { isReplicaAwaited: false },
    place: 'synchronous host',
    given: ['failOver', 'processCrash'],
    breaks: appliedWrongly,
  },
  {
    name: 'waiting for it in a cancel',
    change: { isReplicaAwaited: false },
    place: 'synchronous host',
    given: ['failOver', 'cancel'],
    breaks: appliedWrongly,
  },
  {
    name: 'heeding the warning that a commit did not wait',
    change: { isWarningHeeded: false },
    place: 'synchronous host',
    given: ['failOver', 'cancelledWait'],
    breaks: appliedWrongly,
  },
]
for (const { name, change, place, given, breaks } of neededGuards) {
  test(`without ${name} a promise breaks`, (t) => {
    const found = look(t, { ...wholeProtocol, ...change }, place, given)
    assert.equal(found.violation?.invariant, breaks, story(found))
  })
}

/** Guards that the other guards can replace. */
const spareGuards: readonly Case[] = [
  // A revision is unique within an epoch, and in the next epoch the job is read again by its claim.
  {
    name: 'revision and epoch are a fence even without the claim',
    change: { isClaimCompared: false },
    place: 'another host',
    given: ['failOver', 'failure', 'cancel'],
  },
  // An error of the server is as certain as settling. The code settles anyway, to have one way.
  {
    name: 'an error tells as much as settling the flight of an item that is tried again',
    change: { isRetrySettled: false },
    place: 'another host',
    given: ['retry', 'failOver', 'processCrash'],
  },
  // The mark has the answer.
  {
    name: 'on another host a statement need not wait for its announcement',
    change: { isAnnouncementFlushed: false },
    place: 'another host',
    given: ['serverCrash', 'processCrash', 'cancel'],
  },
]
for (const { name, change, place, given } of spareGuards) {
  test(name, (t) => holds(look(t, { ...wholeProtocol, ...change }, place, given)))
}
