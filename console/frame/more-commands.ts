import { catalog, openCatalog, refreshCatalog } from '../api/catalog.ts'
import { readHistory } from '../api/history.ts'
import { session } from '../api/session.ts'
import { packStatement } from '../api/share.ts'
import { navigate, pathTo } from '../parts/browser/route.ts'
import type { Command } from '../parts/commands.ts'
import { shorten } from '../parts/format.ts'

/** What the palette finds besides the page's commands: tables, also those read later, and the history. */
export async function moreCommands(): Promise<() => readonly Command[]> {
  if (!session.peek()) return () => []
  const [history] = await Promise.all([readHistory(), openCatalog()])
  void refreshCatalog()
  return () => [
    ...catalog.value.tables.map(({ schema, name, kind }) => ({
      name: `${schema}.${name}, ${kind}`,
      run: () => navigate(pathTo('tables', schema, name)),
    })),
    // Opens a new draft, as a shared link does. Nothing is run.
    ...history.map(({ text }) => ({
      name: `History: ${shorten(text, 120)}`,
      run: () => void packStatement(text).then((packed) => navigate(`/sql#s=${packed}`)),
    })),
  ]
}
