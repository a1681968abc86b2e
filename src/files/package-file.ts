import { existsSync, readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

let root: string | undefined

/** The path of a file of the package, whether this runs from src/ or bundled from dist/. */
export function packageFile(path: string): string {
  root ??= packageAbove(import.meta.dirname)
  return join(root, path)
}

/** Files and folder listings, read while this process had the right to. */
const held = new Map<string, Buffer>()
const heldNames = new Map<string, readonly string[]>()

/** Reads a file, or a folder with its content, into memory, for a process that may not read it later. */
export async function holdFiles(path: string): Promise<void> {
  const names = await readdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTDIR' && error.code !== 'ENOENT') throw error
  })
  if (names) {
    heldNames.set(path, names)
    await Promise.all(names.map((name) => holdFiles(join(path, name))))
    return
  }
  const content = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  if (content) held.set(path, content)
}

export const heldFile = (path: string): Buffer | undefined => held.get(path)
export const readPackageFile = async (path: string): Promise<Buffer> => held.get(path) ?? readFile(path)
export const readPackageFileSync = (path: string): Buffer => held.get(path) ?? readFileSync(path)
export const listPackageFolder = async (path: string): Promise<readonly string[]> =>
  heldNames.get(path) ?? readdir(path)

export function readVersion(): string {
  const text = readPackageFileSync(packageFile('package.json')).toString('utf8')
  return (JSON.parse(text) as { version: string }).version
}

function packageAbove(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : packageAbove(dirname(folder))
}
