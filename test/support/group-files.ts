import { writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/**
 * A few files of a folder share a process and so the services that they start, which cost more than most tests. The folders
 * that take longest go first, so that none of them is left alone at the end; those that wait are spread over the run.
 */
export async function groupFiles(
  files: readonly string[],
  compiled: (file: string) => string,
  folder: string,
): Promise<string[]> {
  const byFolder = new Map<string, string[]>()
  for (const file of files) byFolder.set(dirname(file), [...(byFolder.get(dirname(file)) ?? []), file])
  const groups = [...byFolder.values()].flatMap(inGroups).sort((one, other) => rankOf(one) - rankOf(other))
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

function rankOf(group: Group): number {
  const rank = slowFolders.indexOf(folderOf(group))
  return rank < 0 ? slowFolders.length : rank
}

/** Groups that work and groups that wait, evenly mixed: several that wait at a time would leave a core idle. */
function spread(groups: readonly Group[]): Group[] {
  const waits = (group: Group) => waitingFolders.includes(folderOf(group))
  const lists = [groups.filter((group) => !waits(group)), groups.filter(waits)]
  return lists
    .flatMap((list) => list.map((group, at) => ({ group, place: at / list.length })))
    .sort((one, other) => one.place - other.place)
    .map(({ group }) => group)
}

const folderOf = ([file]: Group) => basename(dirname(file!))

const filesPerProcess = 5
/** Their tests are of leases, outages and time limits. */
const waitingFolders = ['operations', 'chaos', 'hostile', 'faults', 'worker']
const slowFolders = ['console', ...waitingFolders]
