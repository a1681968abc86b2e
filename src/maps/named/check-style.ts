import { text } from 'node:stream/consumers'
import type { Account } from '../../auth/account.ts'
import type { JsonObject } from '../../contract/text/json-object.ts'
import { spawnPiped } from '../../convert/spawn-piped.ts'
import { errors } from '../../errors.ts'
import { packageFile } from '../../files/package-file.ts'
import { Slots } from '../../postgres/pools/slots.ts'

/** Checks styles with MapLibre's own library, in a process of its own: see `check-style.mjs`. */
export class StyleChecks {
  readonly #slots = new Slots({ total: 2, perRole: 1, perAccount: 1, anonymousPerAccount: 1 })

  /** Throws with the place of the first fault. `sources`: the ids of the layers of the map. */
  async check(
    { username }: Account,
    layers: readonly JsonObject[],
    sources: readonly string[],
  ): Promise<void> {
    const holder = { account: username, role: username }
    const leave = await this.#slots.take(holder, waitMs, () => errors.stylesBusy(5))
    try {
      const fault = await firstFault(JSON.stringify({ sources, layers }))
      if (fault !== '') throw errors.mapInvalid(fault.replace(/^layers/, 'view.style').slice(0, 500))
    } finally {
      leave()
    }
  }
}

const waitMs = 10_000

/** Empty: there is none. */
async function firstFault(style: string): Promise<string> {
  const child = spawnPiped(process.execPath, ['--max-old-space-size=128', programFile()], { env: {} })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  // Its end tells.
  child.stdin.on('error', () => undefined)
  const kill = () => child.kill('SIGKILL')
  const timers = [setTimeout(kill, startMs)]
  let hasBegun = false
  child.stdout.once('data', () => {
    hasBegun = true
    clearTimeout(timers[0])
    timers.push(setTimeout(kill, checkMs))
  })
  try {
    child.stdin.end(style)
    const [written, words, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
    if (code === 0) return written.slice(begun.length)
    if (/out of memory|allocation failed/i.test(words)) return 'layers: an expression takes too much memory'
    if (child.killed && hasBegun) return 'layers: an expression takes too long'
    if (child.killed) throw errors.stylesBusy(5)
    throw new Error(`the check of a style ended with ${code}: ${words.slice(0, 1_000)}`)
  } finally {
    for (const timer of timers) clearTimeout(timer)
  }
}

/** What the program writes when it begins to check. */
const begun = '.'
/** How long the process may take to start on a busy machine. */
const startMs = 20_000
/** A little more than the limit that the program has for itself. */
const checkMs = 2_500

const programFile = () =>
  import.meta.dirname.includes('/src/maps/')
    ? packageFile('src/maps/programs/check-style.mjs')
    : packageFile('dist/maps/programs/check-style.js')
