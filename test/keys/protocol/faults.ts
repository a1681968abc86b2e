import { afterLoss } from './clients.ts'
import type { Protocol } from './protocol.ts'
import { endRepairOf } from './repair.ts'
import {
  type Act,
  type Client,
  dropRole,
  endChange,
  isAnswered,
  may,
  putClient,
  type State,
  spend,
} from './state.ts'

/** Faults that happen by themselves. */
export function faultActs(protocol: Protocol, state: State): readonly Act[] {
  return [
    ...cutConnections(protocol, state),
    ...crashProcesses(state),
    ...crashServers(protocol, state),
    ...dropRoles(state),
  ]
}

/** The process loses the connection of its transaction, which may still commit. */
function cutConnections(protocol: Protocol, state: State): readonly Act[] {
  if (!may(state, 'cutConnection')) return []
  const cut = spend(state, 'cutConnection')
  const acts = state.clients.flatMap((client, index): readonly Act[] => [
    ...(client.change === null
      ? []
      : [[`client ${index} loses the control database`, loseControl(protocol, cut, index)] as const]),
    ...(client.creation === null ? [] : [[`client ${index} loses the host`, loseHost(cut, index)] as const]),
  ])
  const creation = state.repair?.creation ?? null
  return creation === null ? acts : [...acts, ['repair loses the host', endRepairOf(cut, creation)]]
}

/** Before it sends COMMIT, the process notices the loss only when it wants to send. */
function loseControl(protocol: Protocol, state: State, index: number): State {
  const client = state.clients[index]!
  const stage = client.stage === 'recording' ? afterLoss(protocol, client) : client.stage
  return putClient(state, index, { stage, change: null })
}

function loseHost(state: State, index: number): State {
  const { stage } = state.clients[index]!
  return putClient(state, index, { stage: stage === 'making' ? 'failing' : stage, creation: null })
}

function crashProcesses(state: State): readonly Act[] {
  if (!may(state, 'processCrash')) return []
  const crashed = spend(state, 'processCrash')
  const dead: Partial<Client> = { stage: 'dead', change: null, creation: null }
  const acts = state.clients.flatMap((client, index): readonly Act[] => {
    if (client.stage === 'idle' || isAnswered(client)) return []
    return [[`client ${index} crashes`, putClient(crashed, index, dead)]]
  })
  return state.repair ? [...acts, ['repair crashes', { ...crashed, repair: null }]] : acts
}

/** Ends all transactions of the server. What was answered is on its disk. */
function crashServers(protocol: Protocol, state: State): readonly Act[] {
  if (!may(state, 'serverCrash')) return []
  const crashed = spend(state, 'serverCrash')
  const indexes = state.clients.map((_, index) => index)
  const withoutControl = indexes
    .filter((index) => state.clients[index]!.change !== null)
    .reduce((each, index) => loseControl(protocol, each, index), crashed)
  const withoutHost = indexes
    .filter((index) => state.clients[index]!.creation !== null)
    .reduce(loseHost, crashed)
  const creation = state.repair?.creation ?? null
  return [
    [
      'the control database crashes',
      state.changes.reduce((each, { id }) => endChange(each, id), withoutControl),
    ],
    [
      'the host crashes',
      { ...(creation === null ? withoutHost : endRepairOf(withoutHost, creation)), creations: [] },
    ],
  ]
}

function dropRoles(state: State): readonly Act[] {
  if (!may(state, 'droppedRole')) return []
  return state.roles.map(({ key }): Act => {
    const dropped = dropRole(spend(state, 'droppedRole'), key)
    return [`somebody drops the role of key ${key}`, { ...dropped, bereft: [...dropped.bereft, key] }]
  })
}
