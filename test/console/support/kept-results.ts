import type { Page } from 'playwright-core'

/** The pinned results of a user in IndexedDB, as text: the list, and the rows of each. */
export const storedResults = (page: Page, username: string): Promise<string[]> =>
  page.evaluate(
    (name) =>
      new Promise<string[]>((resolve, reject) => {
        const opening = indexedDB.open(name)
        opening.onerror = () => reject(opening.error)
        opening.onsuccess = () => {
          const all = opening.result.transaction('kept').objectStore('kept').getAll()
          all.onsuccess = () => {
            opening.result.close()
            const text = (value: unknown) =>
              value instanceof ArrayBuffer ? new TextDecoder().decode(value) : JSON.stringify(value)
            resolve(all.result.map(text))
          }
        }
      }),
    `cartage:${username}:large`,
  )
