import { existsSync, openSync } from 'node:fs'
import { dirname, join } from 'node:path'

let root: string | undefined

/** The path of a file of the package, whether this runs from src/ or bundled from dist/. */
export function packageFile(path: string): string {
  root ??= packageAbove(import.meta.dirname)
  return join(root, path)
}

/** From here on the package is reached even if the user of this process may not pass the folders above it. Linux only. */
export function reachThroughDescriptor(): void {
  root = join('/proc/self/fd', String(openSync(packageFile('.'), 'r')))
}

function packageAbove(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : packageAbove(dirname(folder))
}
