import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { UsageError } from '../command.ts'
import { Interrupted } from '../interrupt.ts'
import type { Terminal } from './terminal.ts'

/** Asks on stderr, so that stdout stays data. Where nobody can be asked, `flag` must say it. */
export async function ask(terminal: Terminal, question: string, flag: string, usual = ''): Promise<string> {
  const answer = await answerTo(
    terminal,
    usual ? `${question} [${usual}]: ` : `${question}: `,
    flag,
    process.stderr,
  )
  return answer.trim() || usual
}

/** The same without showing what is typed. */
export async function askSecretly(terminal: Terminal, question: string, flag: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  process.stderr.write(terminal.canAsk ? `${question}: ` : '')
  const answer = await answerTo(terminal, '', flag, nowhere)
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
  text: string,
  flag: string,
  output: NodeJS.WritableStream,
): Promise<string> {
  if (!terminal.canAsk) throw new UsageError(`nobody can be asked here: add ${flag}`)
  const lines = createInterface({ input: process.stdin, output, terminal: true })
  const left = new Promise<never>((_resolve, reject) => {
    lines.once('SIGINT', () => reject(new Interrupted()))
    lines.once('close', () => reject(new Interrupted()))
  })
  try {
    return await Promise.race([lines.question(text), left])
  } finally {
    left.catch(() => undefined)
    lines.close()
  }
}
