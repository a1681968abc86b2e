import { randomId } from '../../src/client/http/random-id.ts'
import type { JobDocument, JobQuery, NewItem } from '../../src/contract/documents.ts'
import { partsOf } from '../../src/contract/job-items.ts'

/** A statement of a job in the form. Empty fields are not sent. */
export type ComposedItem = Readonly<{
  /** Not sent: identifies the statement when others move. */
  id: string
  query: string
  onsuccess: string
  onerror: string
  timeoutSeconds: string
  /** The params of an existing job, which are kept unchanged. */
  params?: readonly unknown[]
}>
export type ComposedJob = Readonly<{ items: readonly ComposedItem[]; onsuccess: string; onerror: string }>

export const newItem = (query = ''): ComposedItem => ({
  id: randomId(),
  query,
  onsuccess: '',
  onerror: '',
  timeoutSeconds: '',
})

export const emptyJob = (): ComposedJob => ({ items: [newItem()], onsuccess: '', onerror: '' })

/** Always the form with fallbacks: only that one reports when each item started and ended. */
export function queryOf({ items, onsuccess, onerror }: ComposedJob): JobQuery {
  return { query: items.map(itemOf), ...filled({ onsuccess, onerror }) }
}

/** An existing job as the content of the form. */
export function composedOf(job: JobDocument): ComposedJob {
  const { items, onsuccess = '', onerror = '' } = partsOf(job)
  return {
    items: items.map((item) => ({
      ...newItem(item.query),
      onsuccess: item.onsuccess ?? '',
      onerror: item.onerror ?? '',
      timeoutSeconds: item.timeout === undefined ? '' : String(item.timeout / 1000),
      ...(item.params && { params: item.params }),
    })),
    onsuccess,
    onerror,
  }
}

export function moved(items: readonly ComposedItem[], at: number, step: -1 | 1): readonly ComposedItem[] {
  const next = [...items]
  const [item] = next.splice(at, 1)
  next.splice(at + step, 0, item!)
  return next
}

function itemOf({ query, onsuccess, onerror, timeoutSeconds, params }: ComposedItem): NewItem {
  const timeout = Math.round(Number(timeoutSeconds) * 1000)
  return {
    query,
    ...(params && { params }),
    ...filled({ onsuccess, onerror }),
    ...(timeout > 0 && { timeout }),
  }
}

const filled = (texts: Readonly<{ onsuccess: string; onerror: string }>) =>
  Object.fromEntries(Object.entries(texts).filter(([, text]) => text.trim() !== ''))
