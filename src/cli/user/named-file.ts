import { readFile, stat } from 'node:fs/promises'
import { Failed } from './explain.ts'

/** The text of a file that a person named. */
export async function readNamedFile(path: string): Promise<string> {
  await statNamedFile(path)
  return readFile(path, 'utf8')
}

/** Of a folder Node says only when it is read that it is none, and not which. */
export async function statNamedFile(path: string): Promise<{ size: number; isPipe: boolean }> {
  const found = await stat(path)
  if (found.isDirectory()) throw new Failed(`${path} is a folder, not a file`)
  return { size: found.size, isPipe: !found.isFile() }
}
