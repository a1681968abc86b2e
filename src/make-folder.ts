import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Makes a folder and those above it, and answers the first one that was made, if any. Node's own `recursive` goes round
 * for ever, past every signal, where a folder is there and still refuses as if it were not (`/proc/x`).
 */
export async function makeFolder(path: string, mode = 0o777): Promise<string | undefined> {
  if (await isFolder(path)) return undefined
  const above = await makeFolder(dirname(path), mode)
  try {
    await mkdir(path, { mode })
    return above ?? path
  } catch (error) {
    // Others may be first.
    if (await isFolder(path)) return above
    throw error
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
}
