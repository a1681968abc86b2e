import { relative } from 'node:path'
import type { TestsStream } from 'node:test'

/** How long the tests of each file took. */
export class FileTimes {
  readonly #ms = new Map<string, number>()

  constructor(events: TestsStream) {
    const add = ({ file, nesting, details }: Ended) => {
      if (file && nesting === 0) this.#ms.set(file, (this.#ms.get(file) ?? 0) + details.duration_ms)
    }
    events.on('test:pass', add)
    events.on('test:fail', add)
  }

  /** The folders, and the slowest files. Files run in parallel: the sum is more than the whole. */
  describe(root: string): string {
    const files = [...this.#ms].map(([file, ms]) => [relative(root, file), ms] as const)
    const folders = new Map<string, number>()
    for (const [file, ms] of files) {
      const folder = file.includes('/') ? file.slice(0, file.indexOf('/')) : '.'
      folders.set(folder, (folders.get(folder) ?? 0) + ms)
    }
    return [
      'seconds by folder:',
      ...lines([...folders]),
      'the slowest files:',
      ...lines(files).slice(0, mostFiles),
    ].join('\n')
  }
}

type Ended = { file?: string | undefined; nesting: number; details: { duration_ms: number } }

const mostFiles = 15

function lines(times: readonly (readonly [string, number])[]): string[] {
  return times
    .toSorted(([, one], [, other]) => other - one)
    .map(([name, ms]) => `${(ms / 1000).toFixed(1).padStart(8)}  ${name}`)
}
