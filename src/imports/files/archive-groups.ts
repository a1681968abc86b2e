import { ImportFailure } from '../import-failure.ts'
import { type FileKind, kindByName } from './file-kinds.ts'
import type { ZipEntry } from './unpack-zip.ts'
import { shownName } from './unpack-zip.ts'

/** Files of an archive that are loaded together. */
export type ArchiveGroup = Readonly<{
  kind: FileKind
  name: string
  /** The file that GDAL is given; a name of ours. */
  main: string
  /** Each file by its name of ours. */
  parts: readonly (readonly [file: string, entry: ZipEntry])[]
  tellsEncoding?: boolean | undefined
}>

export type ArchiveGroups = Readonly<{
  groups: readonly ArchiveGroup[]
  skipped: readonly string[]
  /** A file without those that belong to it. */
  incomplete: ImportFailure | undefined
}>

export function archiveGroups(entries: readonly ZipEntry[]): ArchiveGroups {
  const visible = entries.filter(({ name }) => !isHidden(name))
  const used = new Set<ZipEntry>()
  const groups: ArchiveGroup[] = []
  let incomplete: ImportFailure | undefined
  const add = (group: ArchiveGroup) => {
    groups.push(group)
    for (const [, entry] of group.parts) used.add(entry)
  }
  for (const group of geodatabases(visible)) add(group)
  for (const [kind, { needed, extra }] of Object.entries(companions)) {
    for (const entry of visible.filter(({ name }) => endingOf(name) === kind)) {
      const found = [...needed, ...extra].flatMap((ending) => {
        const part = visible.find(({ name }) => name.toLowerCase() === `${bare(entry.name)}.${ending}`)
        return part ? [[`input.${ending}`, part] as const] : []
      })
      const missing = needed.filter((ending) => !found.some(([file]) => file === `input.${ending}`))
      if (missing.length > 0) incomplete ??= lacks(entry.name, missing)
      const tellsEncoding = found.some(([file]) => file === 'input.cpg')
      add({ kind: kind as FileKind, name: entry.name, main: `input.${kind}`, parts: found, tellsEncoding })
    }
  }
  for (const entry of visible) {
    const kind = kindByName(entry.name)
    if (used.has(entry) || kind === undefined || kind in companions || kind === 'gdb') continue
    const main = `input.${kind}`
    add({ kind, name: entry.name, main, parts: [[main, entry]] })
  }
  const skipped = entries.filter((entry) => !used.has(entry)).map(({ name }) => name)
  return { groups, skipped, incomplete }
}

const lacks = (name: string, missing: readonly string[]) =>
  new ImportFailure(
    1006,
    `${shownName(name)} comes without its ${missing.map((each) => `.${each}`).join(' and ')}`,
  )

/** What belongs to a file, beside it and under its name. */
const companions: Readonly<
  Record<string, Readonly<{ needed: readonly string[]; extra: readonly string[] }>>
> = {
  shp: { needed: ['shp', 'shx', 'dbf'], extra: ['prj', 'cpg'] },
  tab: { needed: ['tab'], extra: ['dat', 'map', 'id', 'ind'] },
  mif: { needed: ['mif'], extra: ['mid'] },
}

/** The files of a geodatabase keep their names, which GDAL knows; anything else in its folder is left out. */
function geodatabases(entries: readonly ZipEntry[]): ArchiveGroup[] {
  const folders = new Set(entries.flatMap(({ name }) => /^(.*?\.gdb)\//i.exec(name)?.[1] ?? []))
  return [...folders].map((folder) => {
    const parts = entries
      .filter(
        ({ name }) => name.startsWith(`${folder}/`) && geodatabaseFile.test(name.slice(folder.length + 1)),
      )
      .map((entry) => [`input.gdb/${entry.name.slice(folder.length + 1)}`, entry] as const)
    return { kind: 'gdb', name: folder, main: 'input.gdb', parts }
  })
}

const geodatabaseFile = /^(?:[a-z0-9_]{1,40}\.[a-z0-9_]{1,20}|gdb|timestamps)$/i

const isHidden = (name: string) =>
  name.split('/').some((part) => part.startsWith('.') || part === '__MACOSX' || part === '..')

const endingOf = (name: string) => /\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase()
const bare = (name: string) => name.toLowerCase().replace(/\.[a-z0-9]+$/, '')
