import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { UsageError } from './command.ts'

/** A secret from a file, or from standard input if that is `-`: arguments are there for everybody on the machine to see. */
export async function readSecretFile(path: string, what: string): Promise<string> {
  const content = (path === '-' ? await text(process.stdin) : await readFile(path, 'utf8')).trim()
  if (content === '') throw new UsageError(`there is no ${what} in ${path === '-' ? 'standard input' : path}`)
  if (content.includes('\n'))
    throw new UsageError(`${path} has more than one line: it must hold the ${what} alone`)
  return content
}
