import type { ComponentChildren } from 'preact'
import { copyText } from '../parts/controls/copy-button.tsx'
import { Menu, type MenuItem } from '../parts/controls/menu.tsx'
import { toast } from '../parts/toast.tsx'
import { type DownloadFormat, downloadFormats } from './download.ts'
import { copySelection } from './grid/clipboard.ts'
import { copyFormats } from './grid/copy-formats.ts'
import { Find } from './grid/find.tsx'
import type { Result } from './result.ts'
import type { ResultLook } from './result-look.ts'

type MenusProps = Readonly<{
  result: Result
  look: ResultLook
  download: (format: DownloadFormat) => Promise<void>
  /** Whether the statement has parameters: COPY and links take none. */
  hasParams: boolean
  /** Why nothing can be downloaded. */
  why: string | undefined
  /** Undefined without a key. */
  makeLink: (() => void) | undefined
  find?: ComponentChildren
}>

/** What can be done with the rows: find, choose columns, copy, download. */
export function ResultMenus({ result, look, download, hasParams, why, makeLink, find }: MenusProps) {
  const { rows } = result.progress.value
  const copyAs = (format: (typeof copyFormats)[number]) =>
    copySelection(result, look, format).then(
      (text) => copyText(text, 'Copied'),
      (error: Error) => toast(error.message),
    )
  return (
    <>
      {find ?? (rows > 0 && <Find look={look} />)}
      {rows > 0 && <ColumnsMenu result={result} look={look} />}
      {rows > 0 && (
        <Menu
          label="Copy ▾"
          items={[
            { note: 'Copies the selected cells. Ctrl+A in the grid selects all.' },
            ...copyFormats.map((format) => ({ label: `Copy as ${format}`, run: () => void copyAs(format) })),
          ]}
        />
      )}
      <Menu
        label="Download ▾"
        items={[
          { note: 'Runs the statement again and saves all rows as a file.' },
          ...downloadFormats.map((format) => ({
            label: format.label,
            run: () => void download(format),
            ...(format.copy && hasParams && { why: 'COPY takes no parameters' }),
            ...(why !== undefined && { why }),
          })),
          ...(makeLink
            ? [
                'line' as const,
                {
                  label: 'Link without a key…',
                  run: makeLink,
                  ...(hasParams && { why: 'A link takes no parameters' }),
                },
              ]
            : []),
        ]}
      />
    </>
  )
}

const mostListed = 200

/** Shows and hides columns of the grid. */
function ColumnsMenu({ result, look }: Readonly<{ result: Result; look: ResultLook }>) {
  const { columns } = result.progress.value
  const { size } = look.hidden.value
  if (columns.length < 2) return null
  const items = columns.slice(0, mostListed).map(
    ({ name }, at): MenuItem => ({
      label: name,
      isOn: !look.hidden.value.has(at),
      run: () => look.toggleColumn(at),
    }),
  )
  return (
    <Menu
      label={size > 0 ? `Columns (${size} hidden) ▾` : 'Columns ▾'}
      items={[
        { note: 'Hidden columns are not copied. Download includes them.' },
        ...(size > 0
          ? [{ label: 'Show all columns', run: () => look.showAllColumns() }, 'line' as const]
          : []),
        ...items,
        ...(columns.length > mostListed ? [{ note: `Lists the first ${mostListed} columns.` }] : []),
      ]}
    />
  )
}
