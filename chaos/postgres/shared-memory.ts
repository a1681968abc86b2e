import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'

/** The ids of the shared memory segments of a server and its backends. */
export function segmentsOf(pids: readonly number[]): ReadonlySet<string> {
  // Address, permissions, offset, device, inode and name; the inode of a segment is its id.
  const found = pids.flatMap((pid) => [...mapsOf(pid).matchAll(/(\d+) +\/SYSV[0-9a-f]+ /g)])
  return new Set(found.map(([, number]) => number!))
}

/** Frees them for a server that was killed and could not. */
export async function giveBack(segments: ReadonlySet<string>): Promise<void> {
  // It may have been freed meanwhile.
  for (const number of segments) await promisify(execFile)('ipcrm', ['-m', number]).catch(() => undefined)
}

export function mapsOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/maps`, 'utf8')
  } catch {
    return ''
  }
}
