import { setTimeout as sleep } from 'node:timers/promises'
import { cancelled, cancelMove, tooLate } from '../../accounts/moves/cancel-move.ts'
import { carryOut } from '../../accounts/moves/carry-out.ts'
import { hasEnded, hostWithLeftovers, isMoved, kindOf, type Move, nameOf } from '../../accounts/moves/move.ts'
import { moveDocument } from '../../accounts/moves/move-document.ts'
import { findMove, listMoves } from '../../accounts/moves/move-store.ts'
import { requestMove, type Wanted } from '../../accounts/moves/request-move.ts'
import { defaultMoves } from '../../contract/limits.ts'
import { errors } from '../../errors.ts'
import type { Installation } from '../../hosts/installation.ts'
import type { Command } from '../command.ts'
import { untilInterrupted } from '../interrupt.ts'
import { clearProgressLine, drawProgressLine, type Terminal } from '../terminal.ts'
import { asOperator } from './as-operator.ts'

const moveOne =
  (kind: Wanted['kind']): Command['run'] =>
  async ({ args, terminal }) => {
    const [name, host] = args as [string, string]
    const move = await asOperator(async (installation) => {
      const { id } = await requestMove(installation, { kind, name }, host)
      return untilInterrupted((signal) => untilEnded(installation, id, terminal, signal))
    })
    if (!isMoved(move)) throw errors.moveFailed(`The ${kind} stays where it was. ${move.error}`)
    return {
      document: moveDocument(move),
      lines: [
        `moved ${kind} ${name} from ${move.fromHost} to ${move.toHost}${pauseOf(move)}`,
        ...leftoversOf(move),
      ],
    }
  }

/** For the end of a line. */
export const pauseOf = ({ stoppedAt, servedAt }: Move) =>
  stoppedAt && servedAt ? `; not served for ${((+servedAt - +stoppedAt) / 1_000).toFixed(1)} s` : ''

export function leftoversOf(move: Move): string[] {
  const host = hostWithLeftovers(move)
  return host === undefined
    ? []
    : [
        `what move ${move.id} has left on ${host} cannot be dropped now: the service tries again. If that host is lost: cartage host remove ${host} --lost`,
      ]
}

/**
 * The service may be faster and carry it out itself. Then this process only watches. It does not wait for a host that
 * keeps leftovers of an account that is served.
 */
export async function untilEnded(
  installation: Installation,
  id: number,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<Move> {
  const work = carryOut(installation, id, signal)
  let isSettled = false
  const settled = work.finally(() => {
    isSettled = true
  })
  settled.catch(() => undefined)
  let leftSince: number | undefined
  for (let told = ''; ; ) {
    const move = (await findMove(installation.databases.control, id))!
    if (hasEnded(move)) {
      clearProgressLine()
      await settled
      return move
    }
    if (isSettled) {
      await settled
      signal.throwIfAborted()
      if (hostWithLeftovers(move) !== undefined) {
        leftSince ??= Date.now()
        if (Date.now() - leftSince > leftoversMs) {
          clearProgressLine()
          return move
        }
      }
    }
    told = show(terminal, move, told)
    await Promise.race([sleep(300), isSettled ? sleep(300) : settled.catch(() => undefined)])
  }
}

/** How long another process may take to drop what is left, if its host answers. */
const leftoversMs = 20_000

/** A line that changes on a terminal; elsewhere one line for each phase. */
function show(terminal: Terminal, { phase, progress }: Move, told: string): string {
  if (!terminal.showsProgress) return told
  if (terminal.err.isTerminal) drawProgressLine(`${phase} ${progress} %`)
  else if (phase !== told) terminal.say(phase)
  return phase
}

const list: Command['run'] = async () => {
  const moves = await asOperator(({ databases }) => listMoves(databases.control, defaultMoves))
  return {
    document: { moves: moves.map(moveDocument) },
    lines: moves.map(
      (move) =>
        `${move.id}  ${move.organization ? 'organization ' : ''}${nameOf(move)} from ${move.fromHost} to ${move.toHost}: ${move.phase} ${move.progress} %${move.error ? ` (${move.error})` : ''}`,
    ),
  }
}

const cancel: Command['run'] = async ({ args, terminal }) => {
  const id = Number(args[0])
  if (!/^[1-9]\d{0,8}$/.test(args[0]!)) throw errors.moveUnknown(args[0]!.slice(0, 100))
  const move = await asOperator(async (installation) => {
    await cancelMove(installation, id)
    return untilInterrupted((signal) => untilEnded(installation, id, terminal, signal))
  })
  if (isMoved(move)) throw tooLate(move)
  // Not where it is: a later move may have brought it elsewhere.
  const outcome = `${kindOf(move)} ${nameOf(move)} did not go to ${move.toHost}`
  const line =
    move.error === cancelled
      ? `cancelled move ${id}: ${outcome}`
      : `move ${id} had failed already: ${outcome}. ${move.error}`
  return { document: moveDocument(move), lines: [line, ...leftoversOf(move)] }
}

export const moveRuns = {
  'user move': moveOne('user'),
  'org move': moveOne('organization'),
  'move list': list,
  'move cancel': cancel,
} as const
