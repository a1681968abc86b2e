import { readdirSync, readFileSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Whether a process runs under this id. A zombie does not: it only waits to be reaped. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  return readStat(pid)?.[0] !== 'Z'
}

/** The processes of the PostgreSQL server whose data directory this is; it works inside it. Linux only. */
export function serverProcesses(dataPath: string): readonly number[] {
  const ids = attempt(() => readdirSync('/proc'))?.filter((name) => /^\d+$/.test(name)) ?? []
  return ids.map(Number).filter((pid) => isServerProcess(pid, dataPath))
}

/** Whether the process is PostgreSQL at work in this data directory. Without /proc every living process may be. */
export function isServerProcess(pid: number, dataPath: string): boolean {
  if (process.platform !== 'linux') return isAlive(pid)
  // Asked of every process on the machine: most are told by their name. (Someone's shell may stand in the directory too.)
  const command = attempt(() => readFileSync(`/proc/${pid}/comm`, 'utf8').trim())
  if (command !== 'postgres') return false
  // By the folder itself: in another container the same name may be another folder, and another name the same.
  const [working, data] = [`/proc/${pid}/cwd`, dataPath].map((path) => attempt(() => statSync(path)))
  return working !== undefined && working.ino === data?.ino && working.dev === data.dev && isAlive(pid)
}

/** Sends a signal; a process that has already gone is not an error. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Waits for the end of a process, at most so long. Says whether it has ended. */
export async function hasEnded(pid: number, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs
  while (isAlive(pid)) {
    if (Date.now() >= deadline) return false
    await sleep(10)
  }
  return true
}

/** The fields of /proc/<pid>/stat that follow the command, which may itself hold blanks and brackets. */
function readStat(pid: number): readonly string[] | undefined {
  const text = attempt(() => readFileSync(`/proc/${pid}/stat`, 'latin1'))
  return text?.slice(text.lastIndexOf(')') + 2).split(' ')
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
