import { afterLoss } from './clients.ts'
import type { Protocol } from './protocol.ts'
import { endRepairOf } from './repair.ts'
import {
  type Act,
  type Change,
  type Creation,
  endChange,
  hasRole,
  type Id,
  may,
  putClient,
  type State,
  spend,
} from './state.ts'

/** What the databases do with open transactions, however late. */
export function databaseActs(protocol: Protocol, state: State): readonly Act[] {
  return [
    ...state.changes.flatMap((change) => changeActs(protocol, state, change)),
    ...state.creations.flatMap((creation) => creationActs(state, creation)),
  ]
}

/** A transaction without a connection commits if its COMMIT arrives, and is rolled back otherwise. */
function changeActs(protocol: Protocol, state: State, change: Change): readonly Act[] {
  const { id, isSent } = change
  const client = state.clients.findIndex((each) => each.change === id)
  const isHeard = client !== -1 || state.repair?.change === id
  const acts: Act[] = []
  if (isSent) acts.push([`the record of ${nameOf(change)} commits`, commit(state, change, client)])
  if (!isHeard) acts.push([`the record of ${nameOf(change)} is rolled back`, endChange(state, id)])
  if (isSent && client !== -1 && may(state, 'failure')) {
    const stage = afterLoss(protocol, state.clients[client]!)
    const failed = putClient(endChange(spend(state, 'failure'), id), client, { stage, change: null })
    acts.push([`the COMMIT of ${nameOf(change)} fails`, failed])
  }
  return acts
}

function nameOf({ adds, removes }: Change): string {
  return adds === null ? `the deletion of key ${removes}` : `key ${adds}`
}

function commit(state: State, { id, adds, removes }: Change, client: number): State {
  const left = state.keys.filter((key) => key !== removes)
  const keys = adds === null ? left : [...left, adds].sort((one, other) => one - other)
  const ended = { ...endChange(state, id), keys }
  if (client === -1) return ended
  return putClient(ended, client, { stage: adds === null ? 'removing' : 'created', change: null })
}

function creationActs(state: State, creation: Creation): readonly Act[] {
  const { id, key } = creation
  const client = state.clients.findIndex((each) => each.creation === id)
  const isHeard = client !== -1 || state.repair?.creation === id
  if (hasRole(state, key)) return [[`the role of key ${key} is there already`, fail(state, id, client)]]
  const acts: Act[] = [[`the role of key ${key} commits`, make(state, creation, client)]]
  if (!isHeard) acts.push([`the role of key ${key} is rolled back`, endCreation(state, id)])
  else if (may(state, 'failure')) {
    acts.push([`the role of key ${key} fails`, fail(spend(state, 'failure'), id, client)])
  }
  return acts
}

function make(state: State, { id, key, isGranted }: Creation, client: number): State {
  const roles = [...state.roles, { key, isGranted }].sort((one, other) => one.key - other.key)
  const made = endCreation({ ...state, roles }, id)
  return client === -1 ? endRepairOf(made, id) : toldOfRole(made, client, 'made')
}

function fail(state: State, id: Id, client: number): State {
  const failed = endCreation(state, id)
  return client === -1 ? endRepairOf(failed, id) : toldOfRole(failed, client, 'failing')
}

/** A client that did not wait for its role continues as before. */
function toldOfRole(state: State, client: number, stage: 'made' | 'failing'): State {
  const isWaiting = state.clients[client]!.stage === 'making'
  return putClient(state, client, isWaiting ? { stage, creation: null } : { creation: null })
}

function endCreation(state: State, id: Id): State {
  return { ...state, creations: state.creations.filter((creation) => creation.id !== id) }
}
