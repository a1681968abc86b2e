import { setTimeout as sleep } from 'node:timers/promises'

/** Retries until it succeeds: databases are under attack meanwhile, or the machine is busy. */
export async function insist<T>(act: () => Promise<T>): Promise<T> {
  for (const deadline = Date.now() + patienceMs; ; ) {
    try {
      return await act()
    } catch (error) {
      if (Date.now() > deadline) throw error
      await sleep(250)
    }
  }
}

const patienceMs = 120_000
