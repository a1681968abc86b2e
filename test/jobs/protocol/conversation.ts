import { type Act, may, spend } from './acts.ts'
import { type Answer, execute } from './messages.ts'
import type { Setting } from './protocol.ts'
import { beginRun, drop, mark } from './run.ts'
import {
  append,
  backendOf,
  endBackend,
  host,
  type Message,
  newId,
  putRun,
  putWorker,
  type Run,
  rowOf,
  type State,
  type Write,
} from './state.ts'

/** Claims a job. If no answer comes it forgets the request. (Both workers are alike, so A always asks first.) */
export function ask(setting: Setting, state: State, index: number): readonly Act[] {
  const isFirst = index === 0 || state.workers[0]!.hasAsked
  if (!isFirst || rowOf(state).job.isFinal) return []
  const [named, claim] = newId(putWorker(state, index, { hasAsked: true }))
  const message = { kind: 'claim', worker: named.workers[index]!.id, claim } as const
  const acts: Act[] = []
  const given = execute(setting, named, message)?.state
  if (given) {
    const answer = beginRun(setting, given, rowOf(given))
    acts.push(['claims the job', putWorker(given, index, { answer })])
    if (may(given, 'lostAnswer')) {
      acts.push(['claims the job, and the answer is lost', spend(given, 'lostAnswer')])
    }
  }
  if (may(named, 'lateMessage')) acts.push(['asks for a job, and forgets it', postpone(named, message)])
  return acts
}

/** Looks for a job that is claimed in its name but that it does not know (yet), and releases it. */
export function releaseUnknown(state: State, index: number): readonly Act[] {
  const { id, run, answer } = state.workers[index]!
  const { job, worker, claim, revision } = rowOf(state)
  const isStrange = job.status === 'running' && worker === id && claim !== (run?.claim ?? null)
  const isSent = state.late.some(({ kind }) => kind === 'release')
  if (isSent || !isStrange) return []
  const message = { kind: 'release', claim: claim!, revision } as const
  const name = 'releases what it does not know'
  if (!answer) return [[name, { ...state, late: [...state.late, message] }]]
  return may(state, 'lateMessage') ? [[name, postpone(state, message)]] : []
}

/** A message is answered; or executed with the answer lost; or it arrives late and is repeated. */
export function converse(setting: Setting, state: State, index: number, run: Run): readonly Act[] {
  const message = run.message!
  const acts: Act[] = []
  const executed = execute(setting, state, message)
  if (executed) {
    const { state: after, answer } = executed
    const told = typeof answer === 'string' ? answer : 'another one is there'
    acts.push([`is answered to its ${message.kind}: ${told}`, hear(setting, after, index, run, answer)])
    if (may(state, 'lostAnswer')) {
      acts.push([`has its ${message.kind} executed, and the answer is lost`, spend(after, 'lostAnswer')])
    }
  }
  if (may(state, 'lateMessage')) {
    acts.push([`repeats its ${message.kind}; the first copy may come late`, postpone(state, message)])
  }
  return acts
}

function postpone(state: State, message: Message): State {
  return { ...spend(state, 'lateMessage'), late: [...state.late, message] }
}

function hear(setting: Setting, state: State, index: number, run: Run, answer: Answer): State {
  switch (answer) {
    case 'written':
      return goOnAfterWrite(setting, state, index, run)
    case 'not ours':
      return drop(state, index)
    case 'other epoch':
      return putRun(endBackend(state, run.flight), index, { stage: 'reload', flight: null, message: null })
    case 'marked':
    case 'gone':
      return goOnToSend(state, index, run)
    default:
      return putRun(state, index, { stage: 'contested', rival: answer.other, message: null })
  }
}

function goOnAfterWrite({ protocol, place }: Setting, state: State, index: number, run: Run): State {
  const { job, isReleased } = run.message as Write
  if (isReleased) return drop(job.isFinal && !protocol.areMarksKept ? removeMarks(state) : state, index)
  const written = putRun(state, index, { revision: run.revision + 1 })
  return place === 'same log' ? goOnToSend(written, index, run) : mark(written, index, run.settled)
}

function removeMarks(state: State): State {
  return append(state, 'host', { marks: host(state).log.marks.map(() => null) }, true)
}

/** If the connection is lost by now, the flight is settled like any other. */
function goOnToSend(state: State, index: number, { flight }: Run): State {
  const stage = backendOf(state, flight) ? 'announced' : 'settle'
  return putRun(state, index, { stage, message: null })
}
