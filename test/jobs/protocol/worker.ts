import { type Act, may, spend } from './acts.ts'
import { ask, converse, releaseUnknown } from './conversation.ts'
import { settle } from './messages.ts'
import type { Setting } from './protocol.ts'
import { beginRun, drop, endItem, mark, retryItem, write } from './run.ts'
import {
  append,
  backendOf,
  endBackend,
  host,
  newId,
  put,
  putRun,
  putWorker,
  type Run,
  rowOf,
  type State,
} from './state.ts'

/** All that a worker may do next. */
export function workerActs(setting: Setting, state: State, index: number): readonly Act[] {
  const { run, answer } = state.workers[index]!
  const acts = [...releaseUnknown(state, index)]
  if (answer) acts.push(['hears that it has the job', putWorker(state, index, { answer: null, run: answer })])
  else acts.push(...(run ? goOn(setting, state, index, run) : ask(setting, state, index)))
  return acts.map(([name, after]) => [`worker ${'AB'[index]} ${name}`, after])
}

function goOn(setting: Setting, state: State, index: number, run: Run): readonly Act[] {
  switch (run.stage) {
    case 'settle':
      return settleFlight(setting, state, index, run)
    case 'ready':
      return begin(state, index, run)
    case 'writing':
    case 'marking':
      return converse(setting, state, index, run)
    case 'contested':
      return doubt(setting, state, index, run)
    case 'rivalling':
      return settleRival(setting, state, index, run)
    case 'announced':
      return send(state, index, run)
    case 'sent':
      return []
    case 'reload':
      return reload(setting, state, index, run)
  }
}

/** Ends the backend of the flight and asks for its outcome: the item is done or runs again. */
function settleFlight(setting: Setting, state: State, index: number, run: Run): readonly Act[] {
  const { job, flight } = run
  const acts: Act[] = []
  // A worker that must stop before it knows leaves the flight to the next worker.
  if (may(state, 'release')) {
    const kept = write(spend(state, 'release'), index, { flight, isReleased: true })
    acts.push(['releases the job with its flight', kept])
  }
  const settled = settle(setting, state, job.item, flight!)
  if (!settled) return acts
  const { outcome, state: after } = settled
  const next = {
    committed: () => endItem(after, index, 'succeed'),
    unknown: () => endItem(after, index, 'lose'),
    unconfirmed: () => after,
    aborted: () =>
      run.isRetried
        ? retryItem(after, index)
        : putRun(after, index, { stage: 'ready', job: job.after('abort'), settled: flight, flight: null }),
  }[outcome]()
  return [...acts, [`settles the flight of item ${job.item}: ${outcome}`, next]]
}

/** Begins a transaction, reads its xid and announces it with the progress so far; or releases the job. */
function begin(state: State, index: number, run: Run): readonly Act[] {
  const [named, id] = newId(state)
  const flight = { id, xid: host(state).log.nextXid }
  const begun = append(named, 'host', { nextXid: flight.xid + 1 }, false)
  const job = run.job.begun()
  const backends = [...begun.backends, { flight, item: job.item, isSent: false, isWaiting: false }]
  const announced = write({ ...begun, backends }, index, { job, flight })
  const acts: Act[] = [[`begins item ${job.item} as xid ${flight.xid}, and announces it`, announced]]
  if (may(state, 'release')) acts.push(['releases the job', releaseJob(state, index, run)])
  return acts
}

/** A job that has run nothing yet goes back to the queue. */
function releaseJob(state: State, index: number, { job }: Run): State {
  const released = job.isUntouched ? job.after('requeue') : job
  return write(spend(state, 'release'), index, { job: released, isReleased: true })
}

/**
 * The host has the mark of another flight of the item: the control database may have lost something. Check who has the
 * job.
 */
function doubt({ protocol }: Setting, state: State, index: number, run: Run): readonly Act[] {
  const { job, claim, revision } = rowOf(state)
  const hasClaim = job.status === 'running' && claim === run.claim
  const isOurs = {
    nothing: true,
    claim: hasClaim,
    'claim and revision': hasClaim && revision === run.revision,
  }[protocol.rivalDoubtedBy]
  if (!isOurs) return [['finds that the job is no longer its own', drop(state, index)]]
  return [['finds that the job is still its own', putRun(state, index, { stage: 'rivalling' })]]
}

/** If the other flight was applied it counts; if not, its mark is replaced. */
function settleRival(setting: Setting, state: State, index: number, run: Run): readonly Act[] {
  const { job, flight, rival } = run
  const settled = settle(setting, state, job.item, rival!)
  if (!settled) return []
  const { outcome, state: after } = settled
  const next = {
    committed: () => endItem(endBackend(after, flight), index, 'succeed'),
    unknown: () => endItem(endBackend(after, flight), index, 'lose'),
    unconfirmed: () => after,
    aborted: () => mark(after, index, rival),
  }[outcome]()
  return [[`settles the other flight of item ${job.item}: ${outcome}`, next]]
}

/** Sends the statement and its commit together. */
function send(state: State, index: number, run: Run): readonly Act[] {
  const backend = backendOf(state, run.flight)!
  const backends = put(state.backends, state.backends.indexOf(backend), { ...backend, isSent: true })
  return [[`sends item ${run.job.item}`, putRun({ ...state, backends }, index, { stage: 'sent' })]]
}

/** The server has crashed since: only what the row says now counts. */
function reload(setting: Setting, state: State, index: number, run: Run): readonly Act[] {
  const row = rowOf(state)
  if (row.job.status !== 'running' || row.claim !== run.claim) {
    return [['reads the job again, and it is no longer its own', drop(state, index)]]
  }
  return [['reads the job again', putWorker(state, index, { run: beginRun(setting, state, row) })]]
}
