import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { ClusterHeld } from './cluster-error.ts'
import { isAlive, startTime } from './processes.ts'

export type Lock = Readonly<{ release: () => Promise<void> }>

type Holder = Readonly<{ pid: number; startTime: string }>

/** Makes this process the only one that runs the cluster. A lock whose holder has died does not count. */
export async function takeLock(path: string): Promise<Lock> {
  const own: Holder = { pid: process.pid, startTime: startTime(process.pid) }
  const ownText = JSON.stringify(own)
  // A link appears with its content, so nobody ever reads a lock that is half written.
  const draft = `${path}.${process.pid}`
  // Before anything is written: commands join a cluster whose disk is full, too.
  refuseIfHeld(path, await readHolder(path))
  await writeFile(draft, ownText)
  try {
    for (let attempt = 0; attempt < 5; attempt++) {
      if (await isLinked(draft, path)) {
        if (attempt === 0 || (await isStillOurs(path, ownText)))
          return { release: () => release(path, ownText) }
      } else {
        refuseIfHeld(path, await readHolder(path))
        await rm(path, { force: true })
      }
    }
    throw new ClusterHeld(
      `other Cartage processes are starting on this data directory at this moment (lock: ${path})`,
    )
  } finally {
    await rm(draft, { force: true })
  }
}

/** Another process may have judged the same dead lock at the same moment and removed ours in its place. */
async function isStillOurs(path: string, ownText: string): Promise<boolean> {
  await sleep(50)
  return (await readFile(path, 'utf8').catch(() => undefined)) === ownText
}

async function isLinked(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function refuseIfHeld(path: string, holder: Holder | undefined): void {
  if (!holder || !isAlive(holder.pid) || startTime(holder.pid) !== holder.startTime) return
  throw new ClusterHeld(
    `another Cartage process (${holder.pid}) looks after this data directory (lock: ${path})`,
  )
}

async function readHolder(path: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Holder
  } catch {
    return undefined
  }
}

async function release(path: string, ownText: string): Promise<void> {
  const text = await readFile(path, 'utf8').catch(() => undefined)
  if (text === ownText) await rm(path, { force: true })
}
