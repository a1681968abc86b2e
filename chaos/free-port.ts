import { randomInt } from 'node:crypto'
import { isFree } from '../src/postgres/cluster/postmaster.ts'

/** Below the range from which the kernel takes ports for outgoing connections: it must be free again and again. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000)
    if (!given.has(port) && (await isFree(port))) {
      given.add(port)
      return port
    }
  }
}

/** What was given and is not listened on yet looks free. */
const given = new Set<number>()
