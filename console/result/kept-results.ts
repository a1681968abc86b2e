import { promisifyRequest, withLargeStore } from '../api/kept.ts'

/** A pinned result that this browser stores for the user, without its rows. Never a token. */
export type KeptResult = Readonly<{
  id: string
  /** Its first words. */
  name: string
  text: string
  /** What was sent instead, if the statement has parameters. */
  bound?: Readonly<{ text: string; params: readonly unknown[] }> | undefined
  /** When it was started. */
  at: number
  ms: number
  /** The name of the key that ran it. */
  as: string
  rows: number
  bytes: number
  isPlan: boolean
}>

/** The limit for all stored results of a user in this browser. */
export const mostKeptBytes = 20_000_000
export const mostKept = 50

const listName = 'results'

export async function readKeptResults(): Promise<readonly KeptResult[]> {
  return (await withLargeStore((use) => use('readonly', listIn))) ?? []
}

/** Undefined if it is no longer stored. */
export const readKeptRows = (id: string): Promise<ArrayBuffer | undefined> =>
  withLargeStore((use) => use('readonly', (store) => promisifyRequest(store.get(id))))

/**
 * Stores a result. Returns those dropped to make room, the oldest first, or undefined if this browser cannot store it.
 */
export function keepResult(
  result: KeptResult,
  rows: ArrayBuffer,
): Promise<readonly KeptResult[] | undefined> {
  return withLargeStore((use) =>
    use('readwrite', async (store) => {
      const former = (await listIn(store)).filter(({ id }) => id !== result.id)
      const kept = newest([...former, result])
      const left = former.filter((each) => !kept.includes(each))
      store.put(kept, listName)
      store.put(rows, result.id)
      for (const { id } of left) store.delete(id)
      await promisifyRequest(store.transaction)
      return left
    }),
  )
}

export async function forgetKeptResult(id: string): Promise<void> {
  await withLargeStore((use) =>
    use('readwrite', async (store) => {
      const kept = await listIn(store)
      store.put(
        kept.filter((each) => each.id !== id),
        listName,
      )
      store.delete(id)
      await promisifyRequest(store.transaction)
    }),
  )
}

export async function forgetKeptResults(): Promise<void> {
  await withLargeStore((use) => use('readwrite', (store) => promisifyRequest(store.clear())))
}

const listIn = async (store: IDBObjectStore): Promise<readonly KeptResult[]> =>
  (await promisifyRequest<readonly KeptResult[] | undefined>(store.get(listName))) ?? []

/** As many of the last ones as fit. */
function newest(results: readonly KeptResult[]): readonly KeptResult[] {
  const kept = results.slice(-mostKept)
  while (kept.reduce((sum, { bytes }) => sum + bytes, 0) > mostKeptBytes) kept.shift()
  return kept
}
