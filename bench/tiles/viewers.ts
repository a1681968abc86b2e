import { Agent, get } from 'node:http'
import { percentile, seconds } from '../frame/measure.ts'

/** How long the tiles of a view took, and which of them did not come. */
export class Waits {
  readonly #ms: number[] = []
  readonly #failures: string[] = []

  add(ms: number, status: number, fault: string): void {
    this.#ms.push(ms)
    if (status !== 200 && status !== 204) this.#failures.push(`${status} ${fault}`.trim())
  }

  toString(): string {
    if (this.#ms.length === 0) return 'nothing'
    const [p50, p95] = [50, 95].map((percent) => `${Math.round(percentile(this.#ms, percent))} ms`)
    const failed =
      this.#failures.length === 0 ? '' : `, ${this.#failures.length} failed (${this.#failures[0]})`
    return `p50 ${p50}, p95 ${p95} of ${this.#ms.length} tiles${failed}`
  }
}

/** Seconds until each of this many viewers has all these tiles, requested as browsers do: over six connections each. */
export async function viewed(urls: readonly string[], viewers: number, waits: Waits): Promise<number> {
  return seconds(() => Promise.all(Array.from({ length: viewers }, () => viewedByOne(urls, waits))))
}

async function viewedByOne(urls: readonly string[], waits: Waits): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: connectionsOfBrowser })
  try {
    await Promise.all(urls.map((url) => tile(url, agent, waits)))
  } finally {
    agent.destroy()
  }
}

const connectionsOfBrowser = 6

function tile(url: string, agent: Agent, waits: Waits): Promise<void> {
  const sentAt = performance.now()
  return new Promise((resolve, reject) => {
    get(url, { agent, headers: { 'accept-encoding': 'gzip' } }, (answer) => {
      answer.resume().once('end', () => {
        waits.add(
          performance.now() - sentAt,
          answer.statusCode!,
          String(answer.headers['carto-tile-error'] ?? ''),
        )
        resolve()
      })
    }).once('error', reject)
  })
}
