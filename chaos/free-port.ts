import { randomInt } from 'node:crypto'
import { isFree } from '../src/postgres/cluster/postmaster.ts'

/** Below the kernel's range of ports for outgoing connections: it must be free several times. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000)
    if (!given.has(port) && (await isFree(port))) {
      given.add(port)
      return port
    }
  }
}

/** A port given out but not yet listened on looks free. */
const given = new Set<number>()
