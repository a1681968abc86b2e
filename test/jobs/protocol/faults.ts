import { type Act, may, spend } from './acts.ts'
import { execute, orphan } from './messages.ts'
import type { Setting } from './protocol.ts'
import {
  append,
  endBackend,
  endBackends,
  host,
  type Log,
  newId,
  putServer,
  putWorker,
  rowOf,
  type Server,
  type State,
} from './state.ts'

/** Faults that happen by themselves. */
export function faultActs(setting: Setting, state: State): readonly Act[] {
  return [
    ...arriveLate(setting, state),
    ...watch(state),
    ...crashProcesses(state),
    ...state.servers.flatMap((server, place) => serverActs(setting, state, server, place)),
    ...commitForeign(state),
  ]
}

function nameOf({ servers }: State, place: number): string {
  if (servers.length === 1) return 'the server'
  return place === 0 ? 'the control database' : 'the host'
}

/** A copy of a message arrives after its sender stopped waiting. */
function arriveLate(setting: Setting, state: State): readonly Act[] {
  return state.late.flatMap((message, place): readonly Act[] => {
    const late = state.late.filter((_, other) => other !== place)
    const executed = execute(setting, { ...state, late }, message)
    return executed ? [[`a late ${message.kind} arrives`, executed.state]] : []
  })
}

/** The watcher takes the job from a worker that is dead or that looks dead. */
function watch(state: State): readonly Act[] {
  const { job, worker } = rowOf(state)
  if (state.canceller || job.status !== 'running' || worker === null) return []
  const isAlive = state.workers.some(({ id }) => id === worker)
  if (!isAlive) return [['the watcher orphans the job of a dead worker', orphan(state)]]
  if (!may(state, 'suspicion')) return []
  const suspected = orphan(spend(state, 'suspicion'))
  return [['the watcher orphans the job of a worker that is only slow', suspected]]
}

/** A process dies. A statement that it has sent continues. */
function crashProcesses(state: State): readonly Act[] {
  if (!may(state, 'processCrash')) return []
  const acts = state.workers.flatMap(({ run, answer }, index): readonly Act[] => {
    if (!run && !answer) return []
    const isSent = run?.stage === 'sent' || run?.stage === 'settle'
    const [named, id] = newId(isSent ? state : endBackend(state, run?.flight ?? null))
    const crashed = putWorker(named, index, { id, run: null, answer: null })
    return [[`worker ${'AB'[index]} crashes`, spend(crashed, 'processCrash')]]
  })
  if (!state.canceller) return acts
  return [...acts, ['the canceller dies', { ...spend(state, 'processCrash'), canceller: null }]]
}

/**
 * A crash loses what is not on the disk; a fail-over loses what the replica has not received. Both end all sessions.
 * The synchronous replica of a host may reconnect before that, and then has received everything.
 */
function serverActs(setting: Setting, state: State, server: Server, place: number): readonly Act[] {
  const { log, tail, replica } = server
  const isSynchronous = place === 1 && setting.place === 'synchronous host'
  const name = nameOf(state, place)
  const acts: Act[] = []
  if (may(state, 'serverCrash')) {
    const crashed = spend(state, 'serverCrash')
    const logs = [log, ...tail]
    acts.push(...logs.map((kept): Act => [`${name} crashes`, startAnew(crashed, place, kept, replica)]))
  }
  if (replica) {
    const noted = isSynchronous ? state : noteLost(state, place)
    acts.push([`${name} fails over`, startAnew(noted, place, replica, null)])
    if (isSynchronous)
      acts.push([`the replica of ${name} catches up`, putServer(state, place, { replica: null })])
  } else if (may(state, 'failOver')) {
    const behind = putServer(state, place, { replica: tail[0] ?? log })
    acts.push([`the replica of ${name} falls behind`, spend(behind, 'failOver')])
  }
  return acts
}

function startAnew(state: State, place: number, log: Log, replica: Log | null): State {
  const epoch = state.servers[place]!.epoch + 1
  const started = putServer(state, place, { epoch, log, tail: [], replica })
  const isHost = place === state.servers.length - 1
  const ended = isHost ? endBackends(started, () => true) : started
  return place === 0 ? { ...ended, canceller: null } : ended
}

/** Records done items that the replica lacks. On the control database no loss is excused. */
function noteLost(state: State, place: number): State {
  if (place === 0) return state
  const { log, replica } = state.servers[place]!
  const runs = state.workers.flatMap(({ run, answer }) => run ?? answer ?? [])
  const writes = state.late.filter((message) => message.kind === 'write')
  const whoKnows = [rowOf(state), ...runs, ...writes, ...(state.canceller ? [state.canceller] : [])]
  const isKnown = (item: number) => whoKnows.some(({ job }) => job.items[item] === 'done')
  const isLost = (item: number) => isKnown(item) && log.applied[item]! > replica!.applied[item]!
  return { ...state, lost: state.lost.map((was, item) => was || isLost(item)) }
}

/** After a crash or fail-over another transaction gets an xid that was used before and is still remembered. */
function commitForeign(state: State): readonly Act[] {
  const { nextXid, committedXids, marks } = host(state).log
  const runs = state.workers.flatMap(({ run, answer }) => run ?? answer ?? [])
  const messages = state.late.filter((message) => 'flight' in message)
  const flights = [rowOf(state), ...runs, ...messages].map(({ flight }) => flight)
  if (![...flights, ...marks].some((flight) => flight && flight.xid >= nextXid)) return []
  const change = { nextXid: nextXid + 1, committedXids: [...committedXids, nextXid] }
  return [[`somebody else commits as xid ${nextXid}`, append(state, 'host', change, true)]]
}
