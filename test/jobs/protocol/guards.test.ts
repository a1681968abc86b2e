import assert from 'node:assert/strict'
import { test } from 'node:test'
import { appliedWrongly, type Case, holds, look, runsOn, story } from './look.ts'
import { newProtocol } from './protocol.ts'

/** What each guard is for. */
const neededGuards: readonly Case[] = [
  {
    name: 'comparing the revision',
    change: { isRevisionCompared: false },
    place: 'same log',
    given: ['lateMessage', 'processCrash'],
    breaks: appliedWrongly,
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
    change: { outcomeBy: 'xid' },
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
    change: { isCancelMarked: false },
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
]
for (const { name, change, place, given, breaks } of neededGuards) {
  test(`without ${name} a promise breaks`, (t) => {
    const found = look(t, { ...newProtocol, ...change }, place, given)
    assert.equal(found.violation?.invariant, breaks, story(found))
  })
}

/** What the other guards make good. */
const spareGuards: readonly Case[] = [
  // In one epoch no revision comes twice, and in the next one the job is read again, by its claim.
  {
    name: 'revision and epoch are a fence even without the claim',
    change: { isClaimCompared: false },
    place: 'another host',
    given: ['failOver', 'failure', 'cancel'],
  },
  // Nobody is ever given the id of a lost claim again.
  {
    name: 'a claim may be answered before it is on the disk',
    change: { isClaimFlushed: false },
    place: 'same log',
    given: ['serverCrash', 'lateMessage', 'cancel'],
  },
  // What is lost with it is the statement itself, which comes later in the log.
  {
    name: 'beside the control database a statement need not wait for its announcement',
    change: { isAnnouncementFlushed: false },
    place: 'same log',
    given: ['serverCrash', 'processCrash', 'cancel'],
  },
  // The mark tells.
  {
    name: 'on another host a statement need not wait for its announcement',
    change: { isAnnouncementFlushed: false },
    place: 'another host',
    given: ['serverCrash', 'processCrash', 'cancel'],
  },
  // It takes a job away, and the flight of the job stays for whoever comes next.
  {
    name: 'a list of jobs that arrives late releases nothing but time',
    change: { releaseBy: 'list' },
    place: 'same log',
    given: ['lateMessage', 'processCrash', 'cancel'],
  },
]
for (const { name, change, place, given } of spareGuards) {
  test(name, (t) => holds(look(t, { ...newProtocol, ...change }, place, given)))
}

test('without marks, a statement on another host must wait for its announcement', (t) => {
  const protocol = { ...newProtocol, outcomeBy: 'xid', isAnnouncementFlushed: false } as const
  const found = look(t, protocol, 'another host', ['serverCrash', 'processCrash'])
  assert.equal(found.violation?.invariant, appliedWrongly)
})
