import { existsSync } from 'node:fs'
import { installPackages, waysToInstall } from './apt.mjs'
import { say } from './run.mjs'

const programs = [
  ['/usr/bin/ogr2ogr', 'gdal-bin'],
  ['/usr/bin/bwrap', 'bubblewrap'],
]

/** GDAL reads the files of imports, in bubblewrap's sandbox. Without them the service says what it cannot import. */
export async function provideConverter() {
  const missing = programs.filter(([program]) => !existsSync(program)).map(([, name]) => name)
  if (missing.length === 0) return
  const asRoot = waysToInstall()
  const hint = `only CSV can be imported until they are there (Debian: apt-get install ${missing.join(' ')})`
  if (!asRoot) return say(`without ${missing.join(' and ')}, ${hint}`)
  say(`installing ${missing.join(' and ')}, which read files to import`)
  try {
    await installPackages(asRoot, missing)
  } catch (error) {
    if (error.exitCode > 128) throw error
    say(`${missing.join(' and ')} could not be installed (${error.message}): ${hint}`)
  }
}
