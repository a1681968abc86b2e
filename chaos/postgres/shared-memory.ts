import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { promisify } from 'node:util'

/** What a server has in common with its backends, outside of its folder: files, and segments by their numbers. */
export type SharedMemory = Readonly<{ files: ReadonlySet<string>; segments: ReadonlySet<string> }>

export function sharedMemoryOf(pids: readonly number[]): SharedMemory {
  const maps = pids.map(mapsOf).join('')
  // Address, rights, offset, device, inode and name. The inode of a segment is its number.
  const files = maps.match(/\/dev\/shm\/PostgreSQL\.\d+/g)
  const segments = [...maps.matchAll(/(\d+) +\/SYSV[0-9a-f]+ /g)].map(([, number]) => number!)
  return { files: new Set(files), segments: new Set(segments) }
}

/** In the place of a server that was killed, and so could not. */
export async function giveBack({ files, segments }: SharedMemory): Promise<void> {
  for (const path of files) await rm(path, { force: true })
  // It may have gone meanwhile.
  for (const number of segments) await promisify(execFile)('ipcrm', ['-m', number]).catch(() => undefined)
}

function mapsOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/maps`, 'utf8')
  } catch {
    return ''
  }
}
