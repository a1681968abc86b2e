import { readKept } from '../api/kept.ts'
import { quoteLiteral, readRows } from '../api/sql.ts'
import { Menu } from '../parts/controls/menu.tsx'
import { useLoaded } from '../parts/loading.tsx'
import { ErrorNotice } from '../parts/notice.tsx'
import { useWork } from '../parts/work.ts'

type KeptDrafts = Readonly<{ drafts: readonly Readonly<{ id: string; name: string; text: string }>[] }>

/** Fills the form with a draft of the editor. The database splits it into statements. */
export function FromEditor({ take }: Readonly<{ take: (statements: readonly string[]) => void }>) {
  const kept = useLoaded(() => readKept<KeptDrafts>('drafts').then((found) => found?.drafts ?? []), [])
  const { error, begin } = useWork()
  const drafts = (kept.value ?? []).filter(({ text }) => text.trim() !== '')
  const split = (text: string) =>
    begin(async () => {
      const rows = await readRows<{ statement: string }>(
        `select statement from cartodb.CDB_QueryStatements(${quoteLiteral(text)}) statement`,
      )
      if (rows.length > 0) take(rows.map(({ statement }) => statement))
    })
  return (
    <>
      <Menu
        label="Copy from editor ▾"
        items={
          drafts.length === 0
            ? [{ note: 'The editor is empty.' }]
            : drafts.map(({ name, text }) => ({ label: name, run: () => void split(text) }))
        }
      />
      {error !== undefined && <ErrorNotice error={error} />}
    </>
  )
}
