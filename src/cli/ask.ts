import { createInterface, type Interface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import type { CommandCall } from './command.ts'
import { InterruptedError, UsageError } from './command-error.ts'
import { printable } from './printable.ts'
import type { Terminal } from './terminal.ts'

/** Asks on stderr, because stdout is for data. Without a terminal it is an error that names `flag`. */
export async function ask(terminal: Terminal, question: string, flag: string, usual = ''): Promise<string> {
  const text = printable(usual ? `${question} [${usual}]: ` : `${question}: `)
  return (await answerTo(terminal, flag, process.stderr, (lines) => lines.question(text))).trim() || usual
}

/** Asks without showing what is typed. */
export async function askSecretly(terminal: Terminal, question: string, flag: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const answer = await answerTo(terminal, flag, nowhere, (lines) => {
    // Written only now: before, the terminal still shows what is typed.
    process.stderr.write(printable(`${question}: `))
    return lines.question('')
  })
  process.stderr.write('\n')
  return answer.trim()
}

/** Asks the person to type a name before something is lost, unless --yes is given. `Type ann to delete it` */
export async function confirm(
  { terminal, values }: CommandCall,
  { name, loss, verb }: Readonly<{ name: string; loss: string; verb: string }>,
): Promise<void> {
  if (values.yes === true) return
  if (!terminal.canAsk)
    throw new UsageError(`${loss}. There is no terminal to ask on: add --yes to ${verb} it`)
  const answer = await ask(terminal, `${loss}. Type ${name} to ${verb} it`, '--yes')
  if (answer !== name) throw new UsageError('nothing was changed')
}

async function answerTo(
  terminal: Terminal,
  flag: string,
  output: NodeJS.WritableStream,
  put: (lines: Interface) => Promise<string>,
): Promise<string> {
  if (!terminal.canAsk) throw new UsageError(`no terminal to ask on: add ${flag}`)
  const lines = createInterface({ input: process.stdin, output, terminal: true })
  const interrupted = new Promise<never>((_resolve, reject) => {
    lines.once('SIGINT', () => reject(new InterruptedError()))
    lines.once('close', () => reject(new InterruptedError()))
  })
  try {
    return await Promise.race([put(lines), interrupted])
  } finally {
    // Closing rejects it, and then nothing waits for it.
    interrupted.catch(() => undefined)
    lines.close()
  }
}
