import type { SavedQueryDocument } from '../../../src/contract/saved-queries.ts'

/** `path`: with its last slash; empty for queries in no folder. */
export type QueryFolder = Readonly<{ path: string; queries: readonly SavedQueryDocument[] }>

/** Queries in no folder first, then the folders by name. */
export function foldersOf(queries: readonly SavedQueryDocument[]): readonly QueryFolder[] {
  const folders = new Map<string, SavedQueryDocument[]>([['', []]])
  for (const query of queries) {
    const path = query.name.slice(0, query.name.lastIndexOf('/') + 1)
    const known = folders.get(path)
    if (known) known.push(query)
    else folders.set(path, [query])
  }
  return [...folders]
    .map(([path, inside]) => ({ path, queries: inside }))
    .sort((one, other) => one.path.localeCompare(other.path, 'en'))
}
