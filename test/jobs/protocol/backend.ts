import { type Act, may, spend } from './acts.ts'
import type { Setting } from './protocol.ts'
import { endJob, finishItem } from './run.ts'
import { append, type Backend, endBackend, host, isSame, put, putRun, type State } from './state.ts'

/** A backend that was sent a statement commits, whether or not anybody still listens. */
export function backendActs(setting: Setting, state: State): readonly Act[] {
  return state.backends
    .filter(({ isSent }) => isSent)
    .flatMap((backend) => {
      const { flight, step } = backend
      const isListening = ({ run }: State['workers'][number]) =>
        run?.stage === 'sent' && isSame(run.flight, flight)
      const listener = state.workers.findIndex(isListening)
      const name = `the backend of xid ${flight.xid} commits item ${step}`
      if (listener === -1) return [[name, commit(state, backend)] as const]
      return [
        [`${name}, and answers`, finishItem(setting, commit(state, backend), listener)] as const,
        ...loseConnection(state, backend, listener),
        ...fail(state, backend, listener),
      ]
    })
}

/** The worker hears nothing any more; the backend goes on. */
function loseConnection(state: State, { flight }: Backend, listener: number): readonly Act[] {
  if (!may(state, 'cutConnection')) return []
  const cut = putRun(spend(state, 'cutConnection'), listener, { stage: 'settle' })
  return [[`the connection to xid ${flight.xid} is cut`, cut]]
}

/** The statement raises an error: the transaction is rolled back, and the job ends. */
function fail(state: State, { flight, step }: Backend, listener: number): readonly Act[] {
  if (!may(state, 'failure')) return []
  const failed = endBackend(spend(state, 'failure'), flight)
  return [[`item ${step} fails`, endJob(failed, listener, 'failed')]]
}

/** In the log of the control database a commit does not wait for the disk: the record of it comes later, and does. */
function commit(state: State, { flight, step }: Backend): State {
  const { committedXids, applied } = host(state).log
  const change = {
    committedXids: [...committedXids, flight.xid],
    applied: put(applied, step, applied[step]! + 1),
  }
  return append(endBackend(state, flight), 'host', change, state.servers.length > 1)
}
