import { randomBytes } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { FailedError, UsageError } from './command-error.ts'

/** The text of a file that the person named. */
export async function readNamedFile(path: string): Promise<string> {
  await statNamedFile(path)
  return readFile(path, 'utf8')
}

/** Refuses a folder by its name: the error of Node on reading one has no path. */
export async function statNamedFile(path: string): Promise<{ size: number; isPipe: boolean }> {
  const found = await stat(path)
  if (found.isDirectory()) throw new FailedError(`${path} is a folder, not a file`)
  return { size: found.size, isPipe: !found.isFile() }
}

/** Reads a secret from a file, `-` for stdin: other users of the machine can see the arguments of a process. */
export async function readSecretFile(path: string, what: string): Promise<string> {
  const content = (path === '-' ? await text(process.stdin) : await readFile(path, 'utf8')).trim()
  if (content === '') throw new UsageError(`there is no ${what} in ${path === '-' ? 'standard input' : path}`)
  if (content.includes('\n'))
    throw new UsageError(`${path} has more than one line: put only the ${what} there`)
  return content
}

/**
 * The name of a draft of a file: in the same folder, so that one rename makes it the file, and random, so that another
 * user cannot put a link there first.
 */
export const draftName = (file: string) => `${file}.${randomBytes(6).toString('hex')}.part`
