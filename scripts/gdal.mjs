import { provideIfPossible } from './apt.mjs'

/** GDAL, whose Carto driver the tests use. */
export async function provideGdal() {
  await provideIfPossible('GDAL', 'ogr2ogr', ['gdal-bin'])
}
