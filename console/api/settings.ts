import { signal } from '@preact/signals'
import { changeKept, readKept } from './kept.ts'

/** Small choices that this browser keeps of a person. */
export type Settings = Readonly<{
  /** The page that was open last, as a path. */
  lastPage?: string
  /** How much of the SQL page the editor has, of 100. */
  editorShare?: number
  /** Of columns of results, by their name. */
  columnWidths?: Readonly<Record<string, number>>
}>

export const settings = signal<Settings>({})

const storageName = 'settings'

export async function openSettings(): Promise<Settings> {
  settings.value = (await readKept<Settings>(storageName)) ?? {}
  return settings.value
}

/** In one step with what is stored: another tab may have changed something else. */
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
