import { createInterface } from 'node:readline/promises'
import { type OptionValues, UsageError } from './command.ts'
import { Interrupted } from './interrupt.ts'
import { printable } from './printable.ts'

export const confirmation = { yes: { type: 'boolean', short: 'y' } } as const

/** Asks the person before something is gone for good; where nobody can be asked, --yes must say it. */
export async function confirmLoss(name: string, what: string, { yes }: OptionValues): Promise<void> {
  if (yes) return
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new UsageError(`${what} is for good: add --yes to do it`)
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const left = new Promise<never>((_resolve, reject) =>
    terminal.once('SIGINT', () => reject(new Interrupted())),
  )
  try {
    const answer = await Promise.race([
      terminal.question(printable(`${what} is for good. Type ${name} to do it: `)),
      left,
    ])
    if (answer.trim() !== name) throw new UsageError('nothing was deleted')
  } finally {
    terminal.close()
  }
}
