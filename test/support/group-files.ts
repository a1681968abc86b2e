import { writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/**
 * A few files of a folder share a process and so the services that they start, which cost more than most tests. The folders
 * that take longest go first, so that none of them is left alone at the end.
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
    groups.map(async ([first, ...others], index) => {
      if (others.length === 0) return compiled(first!)
      const group = join(folder, `group-${index}.mjs`)
      const imports = [first!, ...others].map((file) => `import ${JSON.stringify(compiled(file))}\n`)
      await writeFile(group, imports.join(''))
      return group
    }),
  )
}

function inGroups(files: string[]): string[][] {
  const count = Math.ceil(files.length / filesPerProcess)
  return Array.from({ length: count }, (_, index) => files.filter((_, place) => place % count === index))
}

function rankOf([file]: readonly string[]): number {
  const rank = slowFolders.indexOf(basename(dirname(file!)))
  return rank < 0 ? slowFolders.length : rank
}

const filesPerProcess = 5
const slowFolders = ['console', 'operations', 'chaos', 'hostile', 'faults', 'worker']
