import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Creates a folder and its parents, and returns the first one it created, if any. Node's `recursive` loops for ever,
 * past every signal, if a folder exists but fails like a missing one (`/proc/x`).
 */
export async function makeFolder(path: string, mode = 0o777): Promise<string | undefined> {
  if (await isFolder(path)) return undefined
  const above = await makeFolder(dirname(path), mode)
  try {
    await mkdir(path, { mode })
    return above ?? path
  } catch (error) {
    // Another process may have created it first.
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
