import { createInterface, type Interface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { UsageError } from '../command.ts'
import { Interrupted } from '../interrupt.ts'
import { printable } from '../printable.ts'
import type { Terminal } from './terminal.ts'

/** Asks on stderr, so that stdout stays data. Where nobody can be asked, `flag` must say it. */
export async function ask(terminal: Terminal, question: string, flag: string, usual = ''): Promise<string> {
  const text = printable(usual ? `${question} [${usual}]: ` : `${question}: `)
  return (await answerTo(terminal, flag, process.stderr, (lines) => lines.question(text))).trim() || usual
}

/** The same without showing what is typed. */
export async function askSecretly(terminal: Terminal, question: string, flag: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const answer = await answerTo(terminal, flag, nowhere, (lines) => {
    // Only now, as the terminal no longer shows what is typed.
    process.stderr.write(printable(`${question}: `))
    return lines.question('')
  })
  process.stderr.write('\n')
  return answer.trim()
}

/** Asks before something is gone for good. */
export async function confirm(
  terminal: Terminal,
  name: string,
  what: string,
  isSure: boolean,
): Promise<void> {
  if (isSure) return
  if (!terminal.canAsk) throw new UsageError(`${what} is for good: add --yes to do it`)
  const answer = await ask(terminal, `${what} is for good. Type ${name} to do it`, '--yes')
  if (answer !== name) throw new UsageError('nothing was changed')
}

async function answerTo(
  terminal: Terminal,
  flag: string,
  output: NodeJS.WritableStream,
  put: (lines: Interface) => Promise<string>,
): Promise<string> {
  if (!terminal.canAsk) throw new UsageError(`nobody can be asked here: add ${flag}`)
  const lines = createInterface({ input: process.stdin, output, terminal: true })
  const left = new Promise<never>((_resolve, reject) => {
    lines.once('SIGINT', () => reject(new Interrupted()))
    lines.once('close', () => reject(new Interrupted()))
  })
  try {
    return await Promise.race([put(lines), left])
  } finally {
    left.catch(() => undefined)
    lines.close()
  }
}
