import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'

/** The numbers of the segments of memory that a server shares with its backends. */
export function segmentsOf(pids: readonly number[]): ReadonlySet<string> {
  // Address, rights, offset, device, inode and name; the inode of a segment is its number.
  const found = pids.flatMap((pid) => [...mapsOf(pid).matchAll(/(\d+) +\/SYSV[0-9a-f]+ /g)])
  return new Set(found.map(([, number]) => number!))
}

/** In the place of a server that was killed, and so could not. */
export async function giveBack(segments: ReadonlySet<string>): Promise<void> {
  // It may have gone meanwhile.
  for (const number of segments) await promisify(execFile)('ipcrm', ['-m', number]).catch(() => undefined)
}

export function mapsOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/maps`, 'utf8')
  } catch {
    return ''
  }
}
