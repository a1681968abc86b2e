import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The path of a file of the package, whether this runs from src/ or bundled from dist/. */
export const packageFile = (path: string) => join(packageAbove(import.meta.dirname), path)

function packageAbove(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : packageAbove(dirname(folder))
}
