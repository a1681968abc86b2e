import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../../files/make-folder.ts'
import { isPlainLine } from '../../printable.ts'

const nameOf = (folder: string) => join(folder, 'sql-history')

/** The lines of earlier sessions, newest first. */
export async function readHistory(folder: string): Promise<string[]> {
  const text = await readFile(nameOf(folder), 'utf8').catch(() => '')
  return text.split('\n').filter(isPlainLine).filter(Boolean).slice(-1_000).reverse()
}

/** A line that contains a token is not saved. */
export async function remember(folder: string, line: string): Promise<void> {
  if (line.trim() === '' || /cartage_[\w-]{20,}/.test(line)) return
  await makeFolder(folder, 0o700)
  await appendFile(nameOf(folder), `${line}\n`, { mode: 0o600 })
}
