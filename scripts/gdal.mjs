import { installPackages, isThere, waysToInstall } from './apt.mjs'
import { say } from './run.mjs'

/** GDAL, whose Carto driver the tests use: installed where we may; where we may not, those tests say that they did not run. */
export async function provideGdal() {
  if (isThere('ogr2ogr')) return
  const asRoot = waysToInstall()
  if (!asRoot) return
  say('installing GDAL for the tests: gdal-bin')
  try {
    await installPackages(asRoot, ['gdal-bin'])
  } catch (error) {
    if (error.exitCode > 128) throw error
    say(`GDAL could not be installed (${error.message}): its tests will not run`)
  }
}
