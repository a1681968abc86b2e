import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Makes a folder and those above it, and answers the first one that was made, if any. Node's own `recursive` goes round
 * for ever, past every signal, where a folder is there and still refuses as if it were not (`/proc/x`).
 */
export async function makeFolder(path: string, mode = 0o777): Promise<string | undefined> {
  try {
    await mkdir(path, { mode })
    return path
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' && !(await isFolder(dirname(path)))) {
      const above = await makeFolder(dirname(path), mode)
      const made = await makeFolder(path, mode)
      return above ?? made
    }
    // Others may be first, and a system that cannot be written to says so of what is there as well.
    if (code !== 'ENOENT' && (await isFolder(path))) return undefined
    throw error
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
}
