import { type Signal, signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { catalog, catalogError, refreshCatalog, unreadCatalog } from '../../api/catalog.ts'
import { changeSettings, settings } from '../../api/settings.ts'
import { hrefOf } from '../../parts/browser/route.ts'
import { tell } from '../../parts/live.tsx'
import { Skeleton } from '../../parts/loading.tsx'
import { ErrorNotice } from '../../parts/notice.tsx'
import { SchemaPreview } from './preview.tsx'
import { insertedText, type SchemaItem, type SchemaLine, schemaLines } from './schema-lines.ts'
import { SchemaTree } from './schema-tree.tsx'

/** On a narrow screen it covers the page, so it is opened only for a moment. */
const wideScreen = matchMedia('(min-width: 900px)')
const isWide = signal(wideScreen.matches)
const isOver = signal(false)
wideScreen.addEventListener('change', ({ matches }) => {
  isWide.value = matches
  isOver.value = false
})

export const isSchemaShown = () => (isWide.value ? (settings.value.isSchemaShown ?? true) : isOver.value)

/** On a wide screen the choice is stored. */
export function showSchema(isShown: boolean): void {
  isOver.value = isShown
  if (isWide.value) void changeSettings({ isSchemaShown: isShown })
}

/** They stay while another page is open. */
const search = signal('')
const toggled = signal<ReadonlySet<string>>(new Set())
/** In a search other lines are open. */
const toggledInSearch = signal<ReadonlySet<string>>(new Set())

/** Requests the focus for the search field. */
const wantsSearch = signal(0)

export function findInSchema(): void {
  showSchema(true)
  wantsSearch.value++
}

type SidebarProps = Readonly<{
  insert: (text: string, back: number) => void
  focusEditor: () => void
}>

/** The tables, columns and functions of the account beside the editor. */
export function SchemaSidebar({ insert, focusEditor }: SidebarProps) {
  const field = useRef<HTMLInputElement>(null)
  // A signal that only the preview reads: moving the pointer does not render the tree again.
  const shown = useSignal<SchemaLine | undefined>(undefined)
  const look = (line: SchemaLine) => {
    shown.value = line
  }
  const focusSearch = () => field.current?.focus()
  const wanted = wantsSearch.value
  useEffect(() => void (wanted > 0 && focusSearch()), [wanted])
  useEffect(
    () => () => {
      wantsSearch.value = 0
    },
    [],
  )
  const take = (item: SchemaItem, by: 'click' | 'key') => {
    const text = insertedText(item, catalog.peek())
    if (text === '') return
    insert(text, item.kind === 'function' ? 1 : 0)
    tell(`${text} inserted`)
    if (!isWide.value) showSchema(false)
    if (by === 'click' || !isWide.value) focusEditor()
  }
  const close = () => {
    showSchema(false)
    focusEditor()
  }
  const leave = isWide.value ? focusEditor : close
  return (
    <aside class="schema" aria-label="Schema">
      <div class="schema-head">
        <input
          ref={field}
          type="search"
          class="grow"
          aria-label="Search tables, columns and functions"
          placeholder="Search"
          title="Alt+S"
          value={search.value}
          onInput={(event) => searchFor(event.currentTarget.value)}
          onKeyDown={(event) => leaveSearch(event, leave)}
        />
        <button type="button" class="quiet square" aria-label="Hide the schema" onClick={close}>
          ✕
        </button>
      </div>
      <Found look={look} insert={take} search={focusSearch} leave={leave} />
      <Shown line={shown} />
    </aside>
  )
}

const Shown = ({ line }: Readonly<{ line: Signal<SchemaLine | undefined> }>) => (
  <SchemaPreview item={line.value?.item} />
)

function searchFor(text: string): void {
  search.value = text
  toggledInSearch.value = new Set()
}

function leaveSearch(event: KeyboardEvent, leave: () => void): void {
  const { key, currentTarget } = event
  if (key === 'ArrowDown') {
    const tree = (currentTarget as Element)
      .closest('.schema')
      ?.querySelector<HTMLElement>('[role="treeitem"][tabindex="0"]')
    event.preventDefault()
    tree?.focus()
  } else if (key === 'Escape' && search.value === '') {
    leave()
  }
}

type FoundProps = Readonly<{
  look: (line: SchemaLine) => void
  insert: (item: SchemaItem, by: 'click' | 'key') => void
  search: () => void
  leave: () => void
}>

function Found({ search: focusSearch, ...acts }: FoundProps) {
  const all = catalog.value
  const opened = search.value.trim() === '' ? toggled : toggledInSearch
  const lines = schemaLines(all, { search: search.value, toggled: opened.value })
  const isUnread = all === unreadCatalog
  const toggle = (id: string) => {
    const next = new Set(opened.value)
    if (!next.delete(id)) next.add(id)
    opened.value = next
  }
  return (
    <div class="schema-body">
      {catalogError.value !== undefined && (
        <ErrorNotice
          error={catalogError.value}
          acts={
            <button type="button" onClick={() => void refreshCatalog()}>
              Try again
            </button>
          }
        />
      )}
      {lines.length > 0 ? (
        <SchemaTree lines={lines} toggle={toggle} search={focusSearch} {...acts} />
      ) : isUnread ? (
        catalogError.value === undefined && <Skeleton />
      ) : (
        <p class="muted small schema-empty">
          {search.value.trim() ? (
            <>Nothing contains “{search.value.trim()}”.</>
          ) : (
            <>
              No tables yet. <a href={hrefOf('/upload')}>Upload a file</a>, or write CREATE TABLE.
            </>
          )}
        </p>
      )}
    </div>
  )
}
