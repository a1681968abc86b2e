import { drainDocument } from '../../accounts/moves/drain-document.ts'
import { type Drain, drainHost, type Left } from '../../accounts/moves/drain-host.ts'
import { isMoved, kindOf, type Move, nameOf } from '../../accounts/moves/move.ts'
import { endWaiting } from '../../accounts/moves/move-store.ts'
import type { Installation } from '../../hosts/installation.ts'
import type { Command } from '../command.ts'
import { untilInterrupted } from '../interrupt.ts'
import { textOf } from '../option-values.ts'
import type { Terminal } from '../terminal.ts'
import { asOperator } from './as-operator.ts'
import { leftoversOf, pauseOf, untilEnded } from './moves.ts'

const drain: Command['run'] = async ({ args, values, terminal }) => {
  const host = args[0]!
  const { ended, left } = await asOperator(async (installation) => {
    const drained = await drainHost(installation, host, textOf(values, 'to'))
    const ended = await untilInterrupted((signal) => carryOutAll(installation, drained, terminal, signal))
    return { ended, left: [...drained.left, ...ended.flatMap(whyItFailed)] }
  })
  return {
    document: drainDocument({ host, moves: ended, left }),
    lines: [
      ...left.map(({ kind, name, reason }) => `left ${kind} ${name}: ${reason}`),
      ...ended.flatMap(leftoversOf),
      lastLine(host, left),
    ],
    exitCode: left.length > 0 ? 1 : 0,
  }
}

const lastLine = (host: string, { length }: readonly Left[]) =>
  length === 0
    ? `host ${host} has no users`
    : `host ${host} still has ${length === 1 ? 'one account' : `${length} accounts`}: solve the problem, then drain it again`

const whyItFailed = (move: Move): Left[] =>
  isMoved(move) ? [] : [{ kind: kindOf(move), name: nameOf(move), reason: move.error ?? '' }]

/** One after the other. The service may carry out some of them. When interrupted, those of this drain that wait are cancelled. */
async function carryOutAll(
  installation: Installation,
  { moves, made }: Drain,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<readonly Move[]> {
  const ended: Move[] = []
  try {
    for (const { id } of moves) {
      const move = await untilEnded(installation, id, terminal, signal)
      ended.push(move)
      if (isMoved(move))
        terminal.say(`moved ${kindOf(move)} ${nameOf(move)} to ${move.toHost}${pauseOf(move)}`)
      // The interrupted move has ended: begin no other.
      signal.throwIfAborted()
    }
  } catch (error) {
    for (const id of made)
      await endWaiting(installation.databases.control, id, 'The drain was interrupted').catch(() => undefined)
    throw error
  }
  return ended
}

export const drainRuns = { 'host drain': drain } as const
