import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { root, say } from './run.mjs'

const lockPath = join(root, 'dist.lock')
const longestWorkMs = 30 * 60_000

/** Runs `work` while no other process of this project does: two at once would damage each other's folders. */
export async function oneAtATime(work) {
  let hasSaid = false
  while (!take()) {
    if (isAbandoned()) {
      rmSync(lockPath, { force: true })
      continue
    }
    if (!hasSaid) say('waiting for another command that is installing or building')
    hasSaid = true
    await sleep(200)
  }
  try {
    return await work()
  } finally {
    rmSync(lockPath, { force: true })
  }
}

function take() {
  try {
    writeFileSync(lockPath, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

function isAbandoned() {
  try {
    if (Date.now() - statSync(lockPath).mtimeMs > longestWorkMs) return true
    const pid = Number(readFileSync(lockPath, 'utf8'))
    // A lock without a number is being written at this moment.
    if (pid > 0) process.kill(pid, 0)
    return false
  } catch (error) {
    return error.code === 'ESRCH'
  }
}
