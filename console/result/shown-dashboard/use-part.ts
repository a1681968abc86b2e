import { useEffect, useRef, useState } from 'preact/hooks'
import { type PartRows, type PartSource, readPart, textsFor } from './read-part.ts'

export type PartState = Readonly<{ found: PartRows | undefined; error: unknown; isLoading: boolean }>

/**
 * The rows of a part, read again in each round. The former ones stay until the new ones arrive. A round that begins
 * while the same rows are loading sends nothing: otherwise a query longer than a round would never end.
 */
export function usePart(source: PartSource, round: number): PartState {
  const [state, setState] = useState<PartState>({ found: undefined, error: undefined, isLoading: true })
  const reading = useRef<Readonly<{ what: string; left: AbortController }> | undefined>(undefined)
  const what = keyOf(source)
  useEffect(() => {
    if (reading.current?.what === what) return
    reading.current?.left.abort()
    const left = new AbortController()
    reading.current = { what, left }
    setState((former) => ({ ...former, isLoading: true }))
    const end = (next: Partial<PartState>) => {
      if (left.signal.aborted) return drop(next.found)
      reading.current = undefined
      setState((former) => ({ ...former, error: undefined, ...next, isLoading: false }))
    }
    readPart(source, left.signal).then(
      (found) => end({ found }),
      (error: unknown) => end({ error }),
    )
  }, [what, round])
  useEffect(() => () => reading.current?.left.abort(), [])
  const { found } = state
  useEffect(() => () => drop(found), [found])
  return state
}

/** Equal for parts with the same rows. */
function keyOf({ account, part: { query, as }, texts, queries }: PartSource): string {
  const about = Object.hasOwn(queries, query) ? queries[query] : null
  return JSON.stringify([account, query, as, textsFor(queries, query, texts), about])
}

function drop(found: PartRows | undefined): void {
  if (found?.kind === 'result') found.result.drop()
}
