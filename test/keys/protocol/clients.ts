import type { Protocol } from './protocol.ts'
import {
  type Act,
  type Client,
  dropRole,
  endChange,
  type KeyNumber,
  may,
  newId,
  putClient,
  type State,
  spend,
} from './state.ts'

/** All that the process of a request may do next. */
export function clientActs(protocol: Protocol, state: State, index: number): readonly Act[] {
  const client = state.clients[index]!
  return actsOf(protocol, state, index, client).map(([name, after]) => [`client ${index} ${name}`, after])
}

function actsOf(protocol: Protocol, state: State, index: number, client: Client): readonly Act[] {
  switch (client.stage) {
    case 'idle':
      return client.wants === 'create' ? beginCreation(protocol, state, index) : beginDeletion(state, index)
    case 'locked':
      return makeRole(protocol, state, index, client)
    case 'made':
      return record(protocol, state, index, client)
    case 'failing':
      return [['rolls back', rollBack(state, index, client, 'doubting')]]
    case 'doubting':
      return askForKey(protocol, state, index, client)
    case 'undoing':
      return [['removes the role', putClient(dropRole(state, client.key!), index, { stage: 'failed' })]]
    case 'removing':
      return remove(state, index, client)
    default:
      return []
  }
}

/** Takes the lock of the user and inserts the record, in a transaction that stays open. */
function beginCreation({ isLockHeld }: Protocol, state: State, index: number): readonly Act[] {
  if (isLockHeld && state.lock !== null) return []
  const key = state.nextKey
  const begun = begin({ ...state, nextKey: key + 1 }, index, { adds: key, removes: null }, isLockHeld)
  return [[`begins key ${key}`, putClient(begun, index, { stage: 'locked', key })]]
}

function beginDeletion(state: State, index: number): readonly Act[] {
  if (state.lock !== null) return []
  return state.keys.map((key): Act => {
    const begun = begin(state, index, { adds: null, removes: key }, true)
    return [`begins to delete key ${key}`, putClient(begun, index, { stage: 'made', key })]
  })
}

type What = Readonly<{ adds: KeyNumber | null; removes: KeyNumber | null }>

function begin(state: State, index: number, what: What, isLocked: boolean): State {
  const [named, id] = newId(state)
  const changes = [...named.changes, { id, ...what, isSent: false }]
  return putClient({ ...named, changes, lock: isLocked ? id : named.lock }, index, { change: id })
}

/** Sends the transaction that makes the role with all grants, or fails before its commit. */
function makeRole({ isRoleAwaited }: Protocol, state: State, index: number, client: Client): readonly Act[] {
  const [named, id] = newId(state)
  const creations = [...named.creations, { id, key: client.key!, isGranted: true }]
  const stage = isRoleAwaited ? 'making' : 'made'
  const sent = putClient({ ...named, creations }, index, { stage, creation: id })
  const acts: Act[] = [[`sends the role of key ${client.key}`, sent]]
  if (!may(state, 'failure')) return acts
  return [...acts, ['is refused the role', rollBack(spend(state, 'failure'), index, client, 'refused')]]
}

function rollBack(state: State, index: number, { change }: Client, stage: 'doubting' | 'refused'): State {
  return putClient(endChange(state, change), index, { stage, change: null, creation: null })
}

/** Sends the COMMIT of the record, or finds its connection lost. */
function record(protocol: Protocol, state: State, index: number, client: Client): readonly Act[] {
  const { wants, change, key } = client
  if (change === null) {
    return [['finds its connection gone', putClient(state, index, { stage: afterLoss(protocol, client) })]]
  }
  const cleared = wants === 'delete' && !protocol.isRecordRemovedFirst ? dropRole(state, key!) : state
  const changes = cleared.changes.map((each) => (each.id === change ? { ...each, isSent: true } : each))
  return [
    ['sends the COMMIT of the record', putClient({ ...cleared, changes }, index, { stage: 'recording' })],
  ]
}

/** What a client does whose commit has an unknown outcome. */
export function afterLoss({ isRemovalKnown }: Protocol, { wants }: Client): Client['stage'] {
  if (wants === 'create') return 'doubting'
  return isRemovalKnown ? 'failed' : 'removing'
}

/** The lock is free once the transaction has ended. Then the key exists, or never will. */
function askForKey(protocol: Protocol, state: State, index: number, client: Client): readonly Act[] {
  if (protocol.isLockAwaited && state.lock !== null) {
    if (!may(state, 'impatience')) return []
    return [['gives up waiting', putClient(spend(state, 'impatience'), index, { stage: 'failed' })]]
  }
  const isMade = protocol.isKeyAsked && state.keys.includes(client.key!)
  if (isMade) return [['finds the key made', putClient(state, index, { stage: 'created' })]]
  return [['finds that there is no key', putClient(state, index, { stage: 'undoing' })]]
}

/** Removes the role of a deleted key, or leaves it to repair if its objects are locked. */
function remove(state: State, index: number, { key }: Client): readonly Act[] {
  const acts: Act[] = [['removes the role', putClient(dropRole(state, key!), index, { stage: 'deleted' })]]
  if (!may(state, 'failure')) return acts
  return [
    ...acts,
    ['cannot remove the role', putClient(spend(state, 'failure'), index, { stage: 'deleted' })],
  ]
}
