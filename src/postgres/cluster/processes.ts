import { readdirSync, readFileSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** True if a process with this id runs. A zombie does not count. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  return readStat(pid)?.[0] !== 'Z'
}

/**
 * The id and the start of this process, for names of files. Its id alone does not tell it from an earlier process: in a
 * container the service has the same id after every start.
 */
export const ownMark = `${process.pid}-${startOf(process.pid) ?? Math.round(performance.timeOrigin)}`

/** True if the process with this mark runs. Marks of older versions are only an id. */
export function isMarkAlive(mark: string): boolean {
  const [id, start] = mark.split('-')
  const pid = Number(id)
  if (pid === process.pid) return mark === ownMark
  return isAlive(pid) && (start === undefined || (startOf(pid) ?? start) === start)
}

/** The processes of the PostgreSQL server on this data directory, which is their working directory. Linux only. */
export function serverProcesses(dataPath: string): readonly number[] {
  const ids = attempt(() => readdirSync('/proc'))?.filter((name) => /^\d+$/.test(name)) ?? []
  return ids.map(Number).filter((pid) => isServerProcess(pid, dataPath))
}

/** True if the process is PostgreSQL in this data directory. Without /proc, any living process counts. */
export function isServerProcess(pid: number, dataPath: string): boolean {
  if (process.platform !== 'linux') return isAlive(pid)
  // Called for every process on the machine, and the name excludes most. (A shell may have the same working directory.)
  const command = attempt(() => readFileSync(`/proc/${pid}/comm`, 'utf8').trim())
  if (command !== 'postgres') return false
  // Compare the folder, not its name: across containers one name may be two folders, and two names one folder.
  const [working, data] = [`/proc/${pid}/cwd`, dataPath].map((path) => attempt(() => statSync(path)))
  return working !== undefined && working.ino === data?.ino && working.dev === data.dev && isAlive(pid)
}

/** Sends a signal; ignores that the process has ended. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Waits up to `timeoutMs`. Returns whether the process has ended. */
export async function hasEnded(pid: number, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs
  while (isAlive(pid)) {
    if (Date.now() >= deadline) return false
    await sleep(10)
  }
  return true
}

/** In ticks since the machine started. Undefined without /proc. */
function startOf(pid: number): string | undefined {
  return readStat(pid)?.[19]
}

/** The fields of /proc/<pid>/stat after the command, which may itself contain blanks and brackets. */
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
