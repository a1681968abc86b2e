import { signal } from '@preact/signals'
import { changeKept, readKept } from './kept.ts'

/** Small choices of the user, stored in this browser. */
export type Settings = Readonly<{
  /** The path of the page opened last. */
  lastPage?: string
  /** The height of the editor on the SQL page, in percent. */
  editorShare?: number
  /** Whether the schema is shown beside the editor. */
  isSchemaShown?: boolean
  /** Widths of result columns, by column name. */
  columnWidths?: Readonly<Record<string, number>>
}>

export const settings = signal<Settings>({})

const storageName = 'settings'

export async function openSettings(): Promise<Settings> {
  settings.value = (await readKept<Settings>(storageName)) ?? {}
  return settings.value
}

/** Read and written in one transaction, because another tab may change other settings. */
export async function changeSettings(change: Settings): Promise<void> {
  settings.value = { ...settings.value, ...change }
  await changeKept<Settings>(storageName, (former = {}) => ({ ...former, ...change }))
}

const mostWidths = 500

export function keepColumnWidth(name: string, width: number): Promise<void> {
  const { [name]: _former, ...others } = settings.value.columnWidths ?? {}
  const kept = Object.entries(others).slice(1 - mostWidths)
  return changeSettings({ columnWidths: { ...Object.fromEntries(kept), [name]: width } })
}
