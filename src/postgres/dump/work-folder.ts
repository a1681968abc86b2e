import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isMarkAlive, ownMark } from '../cluster/processes.ts'

/** What the folder is for: the definitions and certificates of a move, or a file to download. */
type WorkFolderUse = 'move' | 'export'

/** Makes a temporary folder. If this process is killed, `removeAbandonedFolders` of another one removes it. */
export const makeWorkFolder = (use: WorkFolderUse): Promise<string> =>
  mkdtemp(join(tmpdir(), `cartage-${use}-${ownMark}-`))

/** Runs `work` with a folder for definitions and certificates, which is removed afterwards. */
export async function inWorkFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await makeWorkFolder('move')
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Removes those of processes that have ended, also of an earlier process with the id of this one. */
export async function removeAbandonedFolders(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const mark = folderName.exec(name)?.[1]
    if (mark === undefined || isMarkAlive(mark)) continue
    await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => undefined)
  }
}

const folderName = /^cartage-(?:move|export)-(\d+(?:-\d+)?)-/
