import { type Field, kinds, openField } from './copy/field.ts'
import type { Entry } from './frame/entry.ts'
import { type Frame, inFrame } from './frame/frame.ts'
import { seconds } from './frame/measure.ts'
import { ProcessSampler } from './frame/process-use.ts'

// For a trial: CARTAGE_BENCH_MB=50 npm run bench -- files-skip-wide
const megabytes = Number(process.env.CARTAGE_BENCH_MB ?? 500)

const skipEntries: readonly Entry[] = Object.entries(kinds).map(([kindName, kind]) => ({
  name: `files-skip-${kindName}`,
  title: `copyfrom with on_error=skip, ${megabytes} MB of ${kindName} rows without a bad one`,
  baseline: 'copyfrom',
  unit: 's',
  aim: '1.15 or less',
  pairs: 5,
  prepare: inFrame((frame) => prepareSkip(frame, kind)),
}))

async function prepareSkip(frame: Frame, kind: (typeof kinds)[keyof typeof kinds]) {
  const field = await openField(frame, kind, megabytes, ['files'])
  const peaks: number[] = []
  const load = async (address: string) => {
    await field.sql('truncate public.target')
    await field.sql('checkpoint')
    return seconds(() =>
      field.shell(`curl -sSf -X POST -T source.csv -H "Transfer-Encoding: chunked" "${address}"`),
    )
  }
  return {
    baseline: () => load('$from'),
    ours: async () => {
      const sampler = new ProcessSampler(field.pid, 10)
      const taken = await load('$from&on_error=skip')
      peaks.push(Math.round(sampler.stop().peakRssMb))
      return taken
    },
    notes: () => `service: peak RSS ${peaks[0]} MB in the first run, ${peaks.at(-1)} MB in the last`,
  }
}

/** The time of each format relative to csv. */
const formatAims = { arrow: '1.0 or less', parquet: '2.0 or less' } as const

const formatEntries: readonly Entry[] = Object.entries(formatAims).flatMap(([format, aim]) =>
  Object.entries(kinds).map(([kindName, kind]) => ({
    name: `files-${format}-${kindName}`,
    title: `format=${format}, the rows of ${megabytes} MB of ${kindName} rows`,
    baseline: 'format=csv',
    unit: 's' as const,
    aim,
    pairs: 5,
    prepare: inFrame((frame) => prepareFormat(frame, kind, format)),
  })),
)

async function prepareFormat(frame: Frame, kind: (typeof kinds)[keyof typeof kinds], format: string) {
  const field = await openField(frame, kind, megabytes, ['rows'])
  const peaks: number[] = []
  const read = (name: string) => seconds(() => field.shell(`curl -sSf -o /dev/null "$sql&format=${name}"`))
  return {
    baseline: () => read('csv'),
    ours: async () => {
      const sampler = new ProcessSampler(field.pid, 10)
      const taken = await read(format)
      peaks.push(Math.round(sampler.stop().peakRssMb))
      return taken
    },
    notes: () => `service: peak RSS ${peaks[0]} MB in the first run, ${peaks.at(-1)} MB in the last`,
  }
}

const points = 500_000
const pointsMegabytes = (points * kinds.points.rowBytes) / 1e6

/** Files written by GDAL through the service, compared with GDAL reading PostgreSQL directly. */
const gdalEntries: readonly Entry[] = Object.entries({ gpkg: 'GPKG', shp: 'ESRI Shapefile' }).map(
  ([format, driver]) => ({
    name: `files-${format}-points`,
    title: `format=${format}, ${points} points`,
    baseline: '`ogr2ogr` from PostgreSQL',
    unit: 's',
    aim: '1.25 or less',
    pairs: 5,
    prepare: inFrame(async (frame) => {
      const field = await openField(frame, kinds.points, pointsMegabytes, ['rows'])
      const write = `ogr2ogr -f '${driver}' out.${format} "$gdal" -sql 'select * from source' -nln points`
      return {
        baseline: () => timed(field, `rm -rf out.*`, write),
        ours: () => timed(field, `rm -rf out.*`, `curl -sSf -o out.file "$sql&format=${format}"`),
      }
    }),
  }),
)

const importEntry: Entry = {
  name: 'files-import-gpkg',
  title: `An import of a GeoPackage of ${points} points`,
  baseline: '`ogr2ogr` into PostgreSQL',
  unit: 's',
  aim: '1.25 or less',
  pairs: 5,
  prepare: inFrame(async (frame) => {
    const field = await openField(frame, kinds.points, pointsMegabytes, ['rows'])
    await field.shell(`ogr2ogr -f GPKG points.gpkg "$gdal" -sql 'select * from source' -nln points`)
    const remove = `$psql -c 'drop table if exists points'`
    const load = 'ogr2ogr --config PG_USE_COPY YES -f PostgreSQL "$gdal" points.gpkg -nln points'
    return {
      baseline: () => timed(field, remove, load),
      ours: () => timed(field, remove, importing),
    }
  }),
}

/** Ends when the import has ended. */
const importing = `
  id=$(curl -sSf -F file=@points.gpkg "$imports?api_key=$key" | sed 's/.*"item_queue_id":"\\([^"]*\\)".*/\\1/')
  for try in 1 2 3 4 5 6; do
    curl -sSf "$imports/$id?wait=30&api_key=$key" > state
    if grep -q '"success":' state; then break; fi
  done
  grep -q '"success":true' state`

async function timed(field: Field, prepare: string, command: string): Promise<number> {
  await field.shell(prepare)
  await field.sql('checkpoint')
  return seconds(() => field.shell(command))
}

export const entries: readonly Entry[] = [...skipEntries, ...formatEntries, ...gdalEntries, importEntry]
