import { writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/**
 * A few files of a folder share a process and its services, which cost more than most tests. Browser tests, waiting
 * tests and the others are spread over the run; the slowest start first, so that none runs alone at the end.
 */
export async function groupFiles(
  files: readonly string[],
  compiled: (file: string) => string,
  folder: string,
): Promise<string[]> {
  const byFolder = new Map<string, string[]>()
  for (const file of files) byFolder.set(dirname(file), [...(byFolder.get(dirname(file)) ?? []), file])
  const groups = [...byFolder.values()].flatMap(inGroups)
  return Promise.all(
    spread(groups).map(async ([first, ...others], index) => {
      if (others.length === 0) return compiled(first!)
      const group = join(folder, `group-${index}.mjs`)
      const imports = [first!, ...others].map((file) => `import ${JSON.stringify(compiled(file))}\n`)
      await writeFile(group, imports.join(''))
      return group
    }),
  )
}

type Group = readonly string[]

function inGroups(files: string[]): Group[] {
  const count = Math.ceil(files.length / filesPerProcess)
  return Array.from({ length: count }, (_, index) => files.filter((_, place) => place % count === index))
}

/**
 * Spreads each kind evenly over its part of the run: several browsers at once are slow, several waiting tests leave a
 * core idle.
 */
function spread(groups: readonly Group[]): Group[] {
  return kinds
    .flatMap((kind) => {
      const list = groups.filter((group) => kindOf(group) === kind).sort(byRankIn(kind.folders))
      return list.map((group, at) => ({ group, place: (kind.part * at) / list.length }))
    })
    .sort((one, other) => one.place - other.place)
    .map(({ group }) => group)
}

const kindOf = (group: Group) => kinds.find(({ folders }) => folders.includes(folderOf(group))) ?? others

function byRankIn(folders: readonly string[]): (one: Group, other: Group) => number {
  const rankOf = (group: Group) => {
    const rank = folders.indexOf(folderOf(group))
    return rank < 0 ? folders.length : rank
  }
  return (one, other) => rankOf(one) - rankOf(other)
}

/** The tests of the console have folders of their own, all for the browser. */
const folderOf = ([file]: Group) => (file!.includes('/console/') ? 'console' : basename(dirname(file!)))

const filesPerProcess = 8

/** The folders with the slowest tests come first. */
type Kind = Readonly<{ folders: readonly string[]; part: number }>

const browsers: Kind = { folders: ['console'], part: 0.7 }
/** Their tests wait for leases, outages and time limits. */
const waiting: Kind = { folders: ['operations', 'hostile', 'chaos', 'worker', 'faults'], part: 0.9 }
const others: Kind = { folders: ['keys', 'cli', 'copy', 'postgres', 'jobs', 'query', 'tables'], part: 1 }
const kinds = [browsers, waiting, others]
