import type { Act } from '../../support/search/search.ts'

/**
 * One job that notifies one address of its end, two senders that may be killed or overtaken, and an address that may
 * refuse a message or take it without an answer. Each guard can be switched off, which shows what it is for.
 */
export type Guards = Readonly<{
  /** The end of the job and its message are one transaction. */
  isOneTransaction: boolean
  /** A sender that writes nothing for the time of its lease loses the message. */
  hasLease: boolean
  /** Only the sender of the last attempt writes its outcome and the body of the message. */
  isFenced: boolean
  /** The body is written before it is sent. */
  keepsBody: boolean
  /** The delivery is recorded after the answer. */
  waitsForAnswer: boolean
}>

export const allGuards: Guards = {
  isOneTransaction: true,
  hasLease: true,
  isFenced: true,
  keepsBody: true,
  waitsForAnswer: true,
}

export const chances = ['kill', 'overtake', 'refuse', 'loseAnswer', 'giveUp', 'redeliver'] as const
export type Chance = (typeof chances)[number]

type Message = Readonly<{
  status: 'pending' | 'delivered' | 'undelivered'
  /** The number of the sender that wrote it. */
  body: number | null
  claim: number | null
  /** A sender may claim it. */
  isDue: boolean
}>

/** An attempt: what the sender knows of the message, and the result of sending it. */
type Attempt = Readonly<{ claim: number; body: number | null; outcome: 'none' | 'taken' | 'failed' }>

export type State = Readonly<{
  ids: number
  /** `telling`: it has ended, and its worker is about to write the message. */
  job: 'running' | 'telling' | 'ended'
  message: Message | null
  senders: readonly (Attempt | null)[]
  /** The bodies that the address received, and how often it accepted one since the last request to send it. */
  bodies: readonly number[]
  received: number
  left: Readonly<Record<Chance, number>>
}>

export function initialState(given: readonly Chance[]): State {
  const left = Object.fromEntries(chances.map((chance) => [chance, given.includes(chance) ? 1 : 0]))
  return {
    ids: 0,
    job: 'running',
    message: null,
    senders: [null, null],
    bodies: [],
    received: 0,
    left: left as State['left'],
  }
}

const newMessage: Message = { status: 'pending', body: null, claim: null, isDue: true }

export function actsOf(guards: Guards, state: State): readonly Act<State>[] {
  return [
    ...jobEnds(guards, state),
    ...state.senders.flatMap((attempt, index) =>
      attempt ? goOn(guards, state, index, attempt) : claim(guards, state, index),
    ),
    ...leaseEnds(guards, state),
    ...faults(state),
  ]
}

function jobEnds({ isOneTransaction }: Guards, state: State): readonly Act<State>[] {
  const told = { ...state, job: 'ended', message: newMessage } as const
  if (state.job === 'running')
    return [['the job ends', isOneTransaction ? told : { ...state, job: 'telling' }]]
  if (state.job === 'ended') return []
  const acts: Act<State>[] = [['the message is written', told]]
  if (state.left.kill > 0)
    acts.push([
      'the worker is killed before it writes the message',
      { ...spend(state, 'kill'), job: 'ended' },
    ])
  return acts
}

function claim({ waitsForAnswer }: Guards, state: State, index: number): readonly Act<State>[] {
  const { message } = state
  if (message?.status !== 'pending' || !message.isDue) return []
  const number = state.ids + 1
  const status = waitsForAnswer ? 'pending' : 'delivered'
  const claimed = {
    ...state,
    ids: number,
    message: { ...message, status, claim: number, isDue: false } as const,
  }
  const attempt = { claim: number, body: message.body, outcome: 'none' } as const
  return [[`sender ${index} claims the message`, put(claimed, index, attempt)]]
}

function goOn(guards: Guards, state: State, index: number, attempt: Attempt): readonly Act<State>[] {
  if (attempt.outcome !== 'none') return [writeOutcome(guards, state, index, attempt)]
  if (attempt.body === null) return [makeBody(guards, state, index, attempt)]
  const came = { ...state, bodies: [...new Set([...state.bodies, attempt.body])] }
  const took = { ...came, received: Math.min(came.received + 1, 2) }
  const taken = { ...attempt, outcome: 'taken' } as const
  const failed = { ...attempt, outcome: 'failed' } as const
  const acts: Act<State>[] = [[`the address takes it from sender ${index}`, put(took, index, taken)]]
  if (state.left.refuse > 0)
    acts.push([`the address refuses it from sender ${index}`, put(spend(came, 'refuse'), index, failed)])
  if (state.left.loseAnswer > 0)
    acts.push([`the answer to sender ${index} is lost`, put(spend(took, 'loseAnswer'), index, failed)])
  return acts
}

function makeBody(
  { isFenced, keepsBody }: Guards,
  state: State,
  index: number,
  attempt: Attempt,
): Act<State> {
  const made = { ...attempt, body: attempt.claim }
  if (!keepsBody) return [`sender ${index} makes the body`, put(state, index, made)]
  if (isFenced && state.message!.claim !== attempt.claim)
    return [`sender ${index} finds that it was overtaken`, put(state, index, null)]
  const kept = { ...state, message: { ...state.message!, body: made.body } }
  return [`sender ${index} makes and writes the body`, put(kept, index, made)]
}

function writeOutcome(
  { isFenced, waitsForAnswer }: Guards,
  state: State,
  index: number,
  { claim: number, outcome }: Attempt,
): Act<State> {
  const message = state.message!
  const ended = put(state, index, null)
  if (!waitsForAnswer || (isFenced && message.claim !== number))
    return [`sender ${index} has nothing to write`, ended]
  // A message that was not accepted is given up after its time.
  const failedStatus = state.left.giveUp > 0 ? 'pending' : 'undelivered'
  const status = outcome === 'taken' ? 'delivered' : failedStatus
  const left = { ...state.left, giveUp: 0 }
  const written = { ...message, status, claim: null, isDue: true } as const
  return [`sender ${index} writes the outcome: ${status}`, { ...ended, message: written, left }]
}

/** The lease is longer than an attempt, unless the sender was killed or its machine froze. */
function leaseEnds({ hasLease }: Guards, state: State): readonly Act<State>[] {
  const { message, senders, left } = state
  if (!hasLease || message?.status !== 'pending' || message.isDue) return []
  const isUnderWay = senders.some((attempt) => attempt?.claim === message.claim)
  const due = { ...message, isDue: true }
  if (!isUnderWay) return [['the lease of a sender that is gone ends', { ...state, message: due }]]
  if (left.overtake === 0) return []
  return [['the lease of a sender that stands still ends', { ...spend(state, 'overtake'), message: due }]]
}

function faults(state: State): readonly Act<State>[] {
  const { left, senders, message } = state
  const acts: Act<State>[] = []
  if (left.kill > 0)
    for (const [index, attempt] of senders.entries())
      if (attempt) acts.push([`sender ${index} is killed`, put(spend(state, 'kill'), index, null)])
  if (left.redeliver > 0 && message && message.status !== 'pending') {
    const again = { ...message, status: 'pending', claim: null, isDue: true } as const
    acts.push(['the user has it sent again', { ...spend(state, 'redeliver'), message: again, received: 0 }])
  }
  return acts
}

const spend = (state: State, chance: Chance): State => ({
  ...state,
  left: { ...state.left, [chance]: state.left[chance] - 1 },
})

const put = (state: State, index: number, attempt: Attempt | null): State => ({
  ...state,
  senders: state.senders.map((each, place) => (place === index ? attempt : each)),
})

export type Invariant =
  | 'every end is delivered or listed'
  | 'what is delivered was taken'
  | 'what was delivered stays so'
  | 'every attempt sends the same bytes'

export function findBroken(after: State, before: State): Invariant | undefined {
  if (after.bodies.length > 1) return 'every attempt sends the same bytes'
  if (after.message?.status === 'delivered' && after.received === 0) return 'what is delivered was taken'
  if (before.message?.status === 'delivered' && after.message?.status === 'undelivered')
    return 'what was delivered stays so'
  return undefined
}

/** Listed: as undelivered. */
export function findBrokenAtRest({ message }: State): Invariant | undefined {
  return !message || message.status === 'pending' ? 'every end is delivered or listed' : undefined
}
